// Package store is the contract of a store: what keeps the zones and their lines.
// The embedded store and the Redis store (package lua) both implement it, and internal/check/conformance holds both to
// it. A caller of a store asks for the interfaces below that it needs, and declares no interface of its own.
//
// What holds for every method:
//
//   - It may be called from any number of goroutines at once. Calls that concern one
//     zone take effect one after another.
//   - It goes by the store's clock, never by the caller's. The clock of a zone never runs
//     backwards (window.Clock). Times are Unix microseconds or milliseconds, as
//     the name of each field says.
//   - It may be repeated without harm. Each method says what a repeated call does.
//   - Its errors wrap those of package line. Every method that takes a zone's name may return ErrZoneUnknown or
//     ErrZoneDeleted, unless it says otherwise; then nothing was done. Every method may return ErrStoreUnavailable or
//     the error of the context; then it is not known whether anything was done.
//   - It does not keep its arguments, and the caller owns what it returns.
package store

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Visitors is what visitors do.
type Visitors interface {
	// Join takes a place in a zone's line for a visitor, or lets the visitor straight in
	// (line.Admitted) where nobody waits and there is room. In a closed zone, one in which maxWaiting
	// wait, or one in which the visitor would wait for longer than maxWaitMinutes, no place is taken (line.Closed, line.Full,
	// line.TooLong).
	//
	// For a visitor who has a place, Join does what Poll does. A visitor
	// whose admission is still good gets it again (line.AdmittedBefore). Both hold in a closed zone, too. So a
	// repeated Join takes no second place, and an admission counts once.
	Join(ctx context.Context, zoneID string, id line.ID) (line.Answer, error)

	// Poll notes that a visitor is still there, and admits the visitor if it is the
	// visitor's turn and the window has room. It answers line.Waiting, Admitted,
	// AdmittedBefore or Gone.
	//
	// The caller has verified the place's token. If the store does not know the place and may have lost it, it puts
	// the place back at its arrival if the token is fresh enough (Restored in line.Answer); else the visitor is Gone.
	// Until an admission expires, a repeated poll gets the same admission (AdmittedBefore), which counts once.
	Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error)

	// Leave gives a place up, for good: no later poll brings it back. It is no error if there is no such place, so it
	// can be repeated. A visitor who was admitted stays admitted; in a zone with
	// a cap the admission is done instead (Healer.Report).
	Leave(ctx context.Context, zoneID string, p line.Place) error
}

// Drawer is what visitors do where there are draws.
type Drawer interface {
	Visitors
	// JoinDrawn is Join by a caller who knows for which draw people gather (zone.Settings.Gate): a visitor who joins
	// before people settle stands at the score. At other times it does what Join does. If people gather for a draw and
	// the call has no score of it, as any Join has not, or that of another draw, no place is taken (line.Undrawn).
	// A visitor who came before people gathered is given a new place with the first Poll or join from then on: at the score,
	// or behind all who were drawn once the draw is closed. So the Place of a Poll has the score, too.
	JoinDrawn(ctx context.Context, zoneID string, drawn event.Drawn, id line.ID) (line.Answer, error)
	// Drawn returns the visitors in a zone's line whose scores are at least fromMicros and less than uptoMicros, in
	// order, at most DrawnBatch of them. Of each place only the id and the score are set. after is the last place of
	// the call before, or the zero value. For a zone that does not exist nobody is returned.
	Drawn(ctx context.Context, zoneID string, after line.Place, fromMicros, uptoMicros int64) ([]line.Place, error)
	// DrawnAside returns those whose places are set aside since sinceMillis or later, in no order: of each the id and the score, as
	// Drawn does. It looks at all places that are set aside, in several calls of Redis: some 300 ms a million.
	DrawnAside(ctx context.Context, zoneID string, sinceMillis, fromMicros, uptoMicros int64) ([]line.Place, error)
	// KeepDraw keeps the list of a zone's draw for DrawLife, unless there is one: written reports that it did. The nonce
	// names the draw: hexadecimal digits. A list has 16 bytes a ticket: 16 MB a million. Draw returns the list; nil if
	// there is none, or not all of it yet. Neither returns ErrZoneUnknown or ErrZoneDeleted.
	KeepDraw(ctx context.Context, zoneID, nonce string, list []byte) (written bool, err error)
	Draw(ctx context.Context, zoneID, nonce string) (list []byte, err error)
}

const (
	// DrawnBatch is how many visitors Drawn returns at most: some 2 ms of Redis.
	DrawnBatch = 2_048
	// DrawLife is for how long a draw can be looked at: longer than a long weekend.
	DrawLife = 7 * 24 * time.Hour
)

// Reader reads the settings of zones.
type Reader interface {
	// Zone returns a zone's settings.
	Zone(ctx context.Context, zoneID string) (zone.Settings, error)

	// Zones returns the settings of all zones, ordered by id. With ErrStoreUnavailable or ErrFormat it returns those
	// that could be read; zones that are missing then may exist.
	Zones(ctx context.Context) ([]zone.Settings, error)
}

// Observer says how a line is.
type Observer interface {
	// Observe returns a zone's line as it is at this moment, what happened in it since the zone's data began, and some of
	// those who wait: at most most, which is 0 to 1000. Its cost does not depend on the length of the line. While people
	// gather it returns no visitors.
	Observe(ctx context.Context, zoneID string, most int) (line.Observation, error)

	// FindVisitor returns what the store has of a visitor, without noting that the visitor is there; the zero value if it has nothing.
	// Places set aside and admissions may be among it whose time is over. Of a visit by a ticket that has moved the line knows nothing: who
	// knows of one says when its admission was given; else AtMillis is 0, and the latest admission is that of the line.
	FindVisitor(ctx context.Context, zoneID string, of line.Admission) (line.Found, error)
}

// Editor is what operators do to zones.
type Editor interface {
	// PutZone makes a zone, or changes its settings; the line stays as it is. If was is not nil and the zone has other
	// settings, it changes nothing and returns ErrZoneChanged. It never returns ErrZoneUnknown: a deleted
	// or lost zone begins anew. Recent admissions of a deleted zone still count against the limits.
	//
	// A change that changes anything is entered in the zone's record under the name by, unless by is the autopilot's (audit.ViaPilot):
	// so a repeated call without was makes no second entry. Settings that are not valid get zone.ErrInvalid. created reports that there was no such
	// zone.
	PutZone(ctx context.Context, s zone.Settings, was *zone.Settings, by audit.By) (created bool, err error)

	// DeleteZone removes a zone with its line, and notes in the record who did. After that, for a day or until the
	// process that holds the zones ends, every method returns ErrZoneDeleted for it, a repeated DeleteZone included.
	// Passes that were given out stay good until they expire, unless the zone is made again: then package zones has its
	// settings revoke all admissions up to the deletion.
	DeleteZone(ctx context.Context, zoneID string, by audit.By) error

	// Changes returns the latest changes of a zone, or for "" those of all zones, newest first: at most zone.MaxChanges. The record
	// survives its zone by as long as an entry is kept. It is empty for a zone that never existed.
	Changes(ctx context.Context, zoneID string) ([]zone.Change, error)
	// Record returns a record as it is kept, a page at a time: the entries after skip newer ones, at most audit.PageSize. name is a
	// zone's ID, or audit.Limits, audit.Operators or audit.Refusals.
	Record(ctx context.Context, name string, skip int) (audit.Page, error)
	// Verify reads all of a record, and checks it.
	Verify(ctx context.Context, name string) (audit.Page, audit.Check, error)
	// Recorded returns the IDs of the zones that may have a record, in order.
	Recorded(ctx context.Context) ([]string, error)
}

// Sweeper removes idle visitors.
type Sweeper interface {
	// Sweep examines the next places of a zone, at most 5,000, and removes those whose visitors have not polled for
	// longer than the idle timeout after the time at which they were told to poll. It also forgets expired admissions.
	// cursor is 0 in the first call, then the Next of the call before.
	//
	// One server at a time sweeps a zone: owner names it, and for a while other owners get Busy (line.Sweep). A store
	// in the server's own process has no other owner. A repeated call examines the same places again, and removes
	// nobody who polled.
	Sweep(ctx context.Context, zoneID, owner string, cursor uint64) (line.Sweep, error)

	// HoldSweeps keeps all servers but the owner from sweeping a zone for the span, even one that is sweeping it now. A
	// store in the server's own process has no others.
	HoldSweeps(ctx context.Context, zoneID, owner string, span time.Duration) error
}

// Healer takes in what servers know: what the store has lost, and, in zones with a cap, who is inside.
type Healer interface {
	// RestoreZone puts back a zone that the store has lost, with what is remembered of its line. Its window counts as
	// full at first. A zone that is there is not changed, so the call can be repeated. A deleted zone stays deleted
	// (ErrZoneDeleted). It never returns ErrZoneUnknown. Settings that are not valid get zone.ErrInvalid.
	RestoreZone(ctx context.Context, s zone.Settings, m line.Memory) error

	// Recall tells the store which visitors left a zone's line or were admitted, in case it has lost that. From then
	// on no token puts them back, and their admissions are repeated rather than made again: of several of one visitor the
	// latest, and all of them count. What the store knows already stays as it is, so the call can be repeated.
	Recall(ctx context.Context, zoneID string, departed []line.Departure) error

	// Report takes in what a server knows of those inside (line.SessionReport), and says what else was done. An admission that
	// stays for longer than the store knew stays so; one that ends is done for good, on all servers, and its pass is not
	// given out again. It may have been lost: then it counts as one of the phantoms. A repeated call does the same, but
	// a session may then last for longer by the time between. In a zone without a cap nothing is done.
	Report(ctx context.Context, zoneID string, t line.SessionReport) (line.SessionReply, error)
}

// History reads what happened in each minute (package history).
type History interface {
	// Minutes returns the rows of the minutes from <= Minute < upto, ordered by minute and writer, none of a zone that was
	// never there. It returns neither ErrZoneUnknown nor ErrZoneDeleted.
	Minutes(ctx context.Context, zoneID string, from, upto int64) ([]Minute, error)
}

// Historian keeps it.
type Historian interface {
	History
	// KeepMinutes keeps rows of a zone for as long as keep, counted from now. Of several rows of the same minute and writer the
	// first stays, or the latest with Replaces, so the call can be repeated. The rows survive their zone, and any loss of its line. It returns neither
	// ErrZoneUnknown nor ErrZoneDeleted.
	KeepMinutes(ctx context.Context, zoneID string, keep time.Duration, rows []Minute) error
}

// Sharer has servers tell each other what they see.
type Sharer interface {
	// Share keeps what a server saw of a zone's site in a slot of time, and returns what all servers have shared of that slot, in no
	// order. A slot is forgotten ShareLife after the last call. A call can be repeated; of several texts of a server the last stays. It returns
	// neither ErrZoneUnknown nor ErrZoneDeleted. A store in the server's own process returns what was given.
	Share(ctx context.Context, zoneID string, slot int64, server string, text []byte) ([][]byte, error)
}

// ShareLife is for how long what servers share is kept.
const ShareLife = time.Minute

// Minute is one row. The store does not look into it.
type Minute struct {
	// Minute is Unix time in minutes, on the zone's clock.
	Minute int64 `json:"minute"`
	// By is "" for the row of the zone that all servers share, else the name of the server whose row it is: lower-case letters
	// and digits.
	By string `json:"by,omitempty"`
	// Row is what is kept.
	Row []byte `json:"row"`
	// Replaces: the row takes the place of one that is there. Rows that are read do not have it.
	Replaces bool `json:"-"`
}

// MinutesOfDay is how many minutes are kept in one place. All servers and versions must agree on it.
const MinutesOfDay = 24 * 60

// ReportBatch is how many Stays go to a store in one call; Report makes several of more.
const ReportBatch = 256

// Ledger keeps what is not the line's: minutes, what was spent, and what servers share.
type Ledger interface {
	Historian
	Spender
	Sharer
}

// Store is all that a store does.
type Store interface {
	Reader
	Observer
	Drawer
	Editor
	Sweeper
	Healer
	Ledger

	// Ping returns nil if the store answers, this server knows the format of its data, and the other servers have the
	// same secrets; else ErrStoreUnavailable, ErrFormat or ErrSecrets.
	Ping(ctx context.Context) error
}

// Call names a method of Store, for metrics.
type Call uint8

// The calls.
const (
	Join Call = iota
	Poll
	Leave
	Zone
	Zones
	Observe
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
	Spend
	Report
	KeepMinutes
	Minutes
	Share
	FindVisitor
	VisitByTicket
)

// Calls are the names of all calls, as metrics write them.
var Calls = [...]string{
	Join: "join", Poll: "poll", Leave: "leave", Zone: "zone", Zones: "zones", Observe: "observe",
	PutZone: "put_zone", DeleteZone: "delete_zone", Changes: "changes", Sweep: "sweep",
	RestoreZone: "restore_zone", Recall: "recall", Ping: "ping",
	Drawn: "drawn", KeepDraw: "keep_draw", Draw: "draw",
	Spend: "spend", Report: "report",
	KeepMinutes: "keep_minutes", Minutes: "minutes", Share: "share", FindVisitor: "find_visitor", VisitByTicket: "visit",
}
