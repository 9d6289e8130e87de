// Package store is the contract of a store: what keeps the zones and their lines.
// The embedded store and the Redis store (package lua) both implement it, and
// internal/check/conformance holds both to it. Whoever calls a store asks for the
// groups of methods below that it needs; nobody declares the methods anew.
//
// What holds for every method:
//
//   - It may be called from any number of goroutines at once. Calls that concern one
//     zone take effect one after another.
//   - It goes by the store's clock, never by the caller's. The clock of a zone never runs
//     backwards (window.Clock). Times are Unix microseconds or milliseconds, as
//     the name of each field says.
//   - It may be repeated. What a repeated call does is said at each method; no repeated
//     call does harm.
//   - Its errors wrap those of package line. ErrZoneUnknown and ErrZoneDeleted come from
//     every method that takes a zone's name, unless it says otherwise, and nothing was
//     done. ErrStoreUnavailable and an end of the context may come
//     from every method, and leave open whether anything was done.
//   - It keeps nothing of what it is handed, and the caller owns what it returns.
package store

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Visitors is what visitors do.
type Visitors interface {
	// Join takes a place in a zone's line for a visitor, or lets the visitor straight in
	// (line.Admitted) where nobody waits and there is room. In a closed zone, or one in which
	// maxWaiting wait, no place is taken (line.Closed, line.Full).
	//
	// A visitor who has a place, under id or under one of the former ids, is polled there;
	// one who has a good admission gets it again (line.AdmittedBefore). This is so in a closed
	// zone, too. So a repeated Join takes no second place, and an admission counts once.
	Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error)

	// Poll notes that a visitor is still there, and admits the visitor if it is the
	// visitor's turn and the window has room. It answers line.Waiting, Admitted,
	// AdmittedBefore or Gone.
	//
	// The place is believed: its token was verified. Where the store does not know it, and may
	// have lost it, the place is put back at its arrival if the token is fresh enough
	// (line.Answer's Restored); else the visitor is Gone. A poll that is repeated after an
	// admission gets the same admission (AdmittedBefore), which counts once, until it expires.
	Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error)

	// Leave gives a place up, for good: no later poll brings it back. It is no error
	// if there is no such place, so it can be repeated. Who was admitted stays admitted.
	Leave(ctx context.Context, zoneID string, p line.Place) error
}

// Drawer is what a draw needs besides.
type Drawer interface {
	// JoinDrawn is Join by a caller who knows what draw people gather for (zone.Settings.Gate):
	// the score is where one who joins before people settle stands. At other times it does
	// what Join does. Where people gather for a draw without a score of it, as in Join, no
	// place is taken (line.Undrawn).
	JoinDrawn(ctx context.Context, zoneID string, scoreMicros int64, id line.ID, former ...line.ID) (line.Answer, error)
	// Drawn returns who stands in a zone's line from one score up to, and without, another, in
	// order, at most DrawnBatch of them; with the scores, and without the rest of the
	// places. after is the last of the call before, or the zero value. Nobody stands in the
	// line of a zone that is not there.
	Drawn(ctx context.Context, zoneID string, after line.Place, fromMicros, uptoMicros int64) ([]line.Place, error)
	// KeepDraw keeps a part of what is published of a zone's draw, under the event's name,
	// for DrawLife; a part that is there is replaced. Draw returns it, nil if there is
	// none. Neither is ever ErrZoneUnknown or ErrZoneDeleted.
	KeepDraw(ctx context.Context, zoneID, event string, part int, text []byte) error
	Draw(ctx context.Context, zoneID, event string, part int) ([]byte, error)
}

const (
	// DrawnBatch is how many Drawn returns at most: some 2 ms of Redis.
	DrawnBatch = 2_048
	// DrawLife is how long a draw can be looked at: over a long weekend, and some.
	DrawLife = 7 * 24 * time.Hour
)

// Viewer is what only looks.
type Viewer interface {
	// Zone returns a zone's settings.
	Zone(ctx context.Context, zoneID string) (zone.Settings, error)

	// Zones returns the settings of all zones, by id. With ErrStoreUnavailable or
	// ErrFormat it returns those that could be read, and its silence
	// about the others says nothing.
	Zones(ctx context.Context) ([]zone.Settings, error)

	// Stats returns a zone's line as it is at this moment, and what happened in it since
	// the zone's data began. Its cost does not depend on the length of the line.
	Stats(ctx context.Context, zoneID string) (line.Stats, error)
}

// Editor is what operators do to zones.
type Editor interface {
	// PutZone makes a zone, or changes its settings; the line stays as it is. With was,
	// it does so only if the zone's settings are still these, else it returns
	// ErrZoneChanged; without, whatever they are. It is never ErrZoneUnknown: a deleted or
	// lost zone begins anew. What the deleted one had admitted lately still counts against the limits.
	//
	// The change stands in the zone's record with the name by, if it changes anything: a
	// repeated call without was makes no second entry. Settings that are not valid are
	// zone.ErrInvalid. created: there was no such zone.
	PutZone(ctx context.Context, s zone.Settings, was *zone.Settings, by string) (created bool, err error)

	// DeleteZone removes a zone with its line, and notes who did. From then on, for a day or
	// until the process that holds the zones ends, every method says ErrZoneDeleted of it;
	// so does a repeated DeleteZone. Passes that were given out stay good until they expire.
	DeleteZone(ctx context.Context, zoneID, by string) error

	// Changes returns the record of a zone's changes, or of all zones' for "", the newest
	// first, up to zone.MaxChanges each. The record survives its zone by 400 days. It is
	// empty for a zone that never was.
	Changes(ctx context.Context, zoneID string) ([]zone.Change, error)
}

// Sweeper removes those who went away silently.
type Sweeper interface {
	// Sweep examines the next places of a zone, at most 5,000, and removes those whose visitors
	// have been missed for longer than the idle timeout: since the time at which they were
	// told to poll. It also forgets what has expired. cursor is 0 at first,
	// then the Next of the call before.
	//
	// Of many servers one at a time sweeps a zone: owner names this one, and for a while
	// others get line.Sweep's Busy. A store in the server's own process has no other owner.
	// A repeated call examines the same places again, and removes nobody who polled.
	Sweep(ctx context.Context, zoneID, owner string, cursor uint64) (line.Sweep, error)

	// HoldSweeps keeps all servers but the owner from sweeping a zone for so long, whoever
	// is at it. A store in the server's own process has no others.
	HoldSweeps(ctx context.Context, zoneID, owner string, span time.Duration) error
}

// Sampler is what those ask who estimate how long people will wait.
type Sampler interface {
	// Sample looks at the line at this moment, and at some of those who wait: at most so
	// many, 1 to 1000. Its cost does not depend on the length of the line. While people gather
	// nobody is looked at.
	Sample(ctx context.Context, zoneID string, most int) (line.Sample, error)
}

// Healer takes in what servers remember and the store has lost.
type Healer interface {
	// RestoreZone puts back a zone that the store has lost, with what is remembered of
	// its line. Its window counts as full at first. A zone that is there is not
	// changed, so the call can be repeated; a deleted one stays so (ErrZoneDeleted). It is
	// never ErrZoneUnknown. Settings that are not valid are zone.ErrInvalid.
	RestoreZone(ctx context.Context, s zone.Settings, m line.Memory) error

	// Recall tells the store who left a zone's line or was admitted, which it may have
	// forgotten. From then on no token puts them back, and an admission is repeated rather than
	// made again. What the store knows already stays as it is, so the call can be repeated.
	Recall(ctx context.Context, zoneID string, departed []line.Departure) error
}

// Lines is what the rooms of visitors ask, and what each link of the chain in
// cmd/queue-server offers to the one before it.
type Lines interface {
	Visitors
	Viewer
}

// Store is all of it.
type Store interface {
	Visitors
	Drawer
	Viewer
	Editor
	Sweeper
	Sampler
	Healer

	// Ping returns nil if the store can serve: it is there, and what it keeps is of a format
	// and under secrets that this server has; else ErrStoreUnavailable, ErrFormat or ErrSecrets.
	Ping(ctx context.Context) error
}

// Call is one of the methods of a Store, for those who measure.
type Call uint8

// The calls, in the order in which they are declared.
const (
	Join Call = iota
	Poll
	Leave
	Zone
	Zones
	Stats
	PutZone
	DeleteZone
	Changes
	Sweep
	RestoreZone
	Recall
	Ping
	Drawn
	KeepDraw
	Draw
	Sample
)

// Calls are the names of all calls, as metrics write them.
var Calls = [...]string{
	Join: "join", Poll: "poll", Leave: "leave", Zone: "zone", Zones: "zones", Stats: "stats",
	PutZone: "put_zone", DeleteZone: "delete_zone", Changes: "changes", Sweep: "sweep",
	RestoreZone: "restore_zone", Recall: "recall", Ping: "ping",
	Drawn: "drawn", KeepDraw: "keep_draw", Draw: "draw",
	Sample: "sample",
}
