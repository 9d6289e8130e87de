// Package line is the vocabulary that the rooms and both stores share: who
// waits, where, and what a store answers. It does no I/O.
package line

import (
	"fmt"
	"net/http"

	"github.com/openqueue/waitingroom/internal/refusal"
)

// Errors of a store. Compare with errors.Is.
var (
	// ErrZoneUnknown: the store has no such zone, and knows of no recent deletion of it. If a server remembers the
	// zone, the store has lost it.
	ErrZoneUnknown = refusal.New("line: zone unknown", refusal.Refusal{
		Status: http.StatusNotFound, Code: "zone_unknown",
		Title:  "There is no such zone",
		Detail: "Check the zoneId; names of zones are case-sensitive.",
		Page:   refusal.Page{State: "unknown"},
		Alert: "a client asks for what is not there: a wrong zone in an app, or a scanner. Nothing is lost here but processor " +
			"time",
		Readers: refusal.Visitors,
		Doc:     "There is no zone of this name, or it was deleted.",
	})
	// ErrZoneDeleted: an operator deleted the zone; it must not be put back.
	ErrZoneDeleted = refusal.Like("line: zone deleted", ErrZoneUnknown)
	// ErrZoneChanged: the settings are not those that the caller had read;
	// read them again and repeat the change.
	ErrZoneChanged = refusal.New("line: zone changed meanwhile", refusal.Conflict)
	// ErrStoreUnavailable: the store did not answer in time. Nothing is known
	// of the call's effect; repeating it is safe.
	ErrStoreUnavailable = refusal.New("line: store unavailable", refusal.StoreUnavailable)
	// ErrStoreFull: the store has no memory for another place, and nothing was done. It wraps ErrStoreUnavailable: those
	// who wait go on, and a newcomer has to come again.
	ErrStoreFull = fmt.Errorf("%w: no memory for another place", ErrStoreUnavailable)
	// ErrFormat: a newer version has written the data, in a format that this version does not know. Nothing was changed.
	ErrFormat = refusal.New("line: data of a newer format", refusal.StoreUnavailable.Saying(
		"A newer version of the server has written the data. Places are kept; newer servers answer."))
	// ErrSecrets: servers that use the store have other secrets than this one.
	// Each would refuse the tokens of the other.
	ErrSecrets = refusal.New("line: other servers of the store have other secrets", refusal.StoreUnavailable.Saying(
		"This server's QUEUE_SECRET differs from that of the other servers on its store. Places are kept; the other servers answer."))
)

// ID names a visitor within a zone: 64 random bits, or a keyed hash of the
// visitor's clientId. As a member of the sorted set it costs 16 bytes of Redis
// memory where a UUID's 36 characters cost 48.
type ID [8]byte

// Place is what a token carries. ID and ArrivedAtMicros name the place; the arrival is in Unix microseconds on the
// store's clock, strictly increasing within a zone's data. Epoch and DueMillis say how fresh the token is; they matter
// only if the store does not know the place, and may have lost it.
type Place struct {
	ID              ID
	ArrivedAtMicros int64
	// Epoch is that of the zone's data when the token was signed: see State.
	Epoch uint32
	// DueMillis is when the visitor was told to poll again, in Unix milliseconds on the store's clock. Nobody is swept
	// before the idle timeout has passed after that time. It is 0 if the visitor was admitted: then the place must
	// not be put back.
	DueMillis int64
	// AdmittedAtMillis is when the visitor was admitted, 0 if it was not, as far as the token tells.
	AdmittedAtMillis int64
	// Told is the position that the visitor was last told, 0 if it was told none.
	Told int64
	// ScoreMicros is where a draw has placed the visitor in the line, in place of its arrival; 0 without a draw. No
	// token and no answer carries it: the caller of a store computes it (event.Draw).
	ScoreMicros int64
}

// StandsAtMicros returns where the place stands in the line: the score that a draw gave, else the arrival.
func (p Place) StandsAtMicros() int64 {
	if p.ScoreMicros > 0 {
		return p.ScoreMicros
	}
	return p.ArrivedAtMicros
}

// AnyArrival, in the Place of a poll, looks a visitor up by the id alone: whoever has a place or an admission is answered, and
// nobody is put back. It is the least arrival that a token can carry.
const AnyArrival = 1

// Departure is a place that is gone because its visitor left or was admitted. Servers remember the latest departures, and
// tell them to a store that may have lost them.
type Departure struct {
	Place Place
	// AdmittedAtMillis is when the visitor was admitted, and ExpiresAtMillis when that pass expires: see Answer. Both are 0
	// if the visitor left.
	AdmittedAtMillis, ExpiresAtMillis int64
}

// Status is the outcome for one visitor. Scripts reply with these numbers.
type Status uint8

// The outcomes.
const (
	// Waiting: in the line.
	Waiting Status = iota
	// Admitted: let in by this call, and counted in the window.
	Admitted
	// AdmittedBefore: let in by an earlier call; the pass is still good.
	AdmittedBefore
	// Gone: swept and not set aside any more, left, or the admission has expired. Join again.
	Gone
	// Closed: no place was taken, the zone takes no newcomers.
	Closed
	// Full: no place was taken, maxWaiting wait already.
	Full
	// TooLong: no place was taken, the visitor would wait for longer than maxWaitMinutes.
	TooLong
	// Undrawn: people gather for a draw, and the call had no score from it. No place was taken, put back or changed. The
	// caller has to read the zone's settings anew.
	Undrawn
)

// statuses name the outcomes, as metrics write them.
var statuses = [...]string{
	Waiting: "waiting", Admitted: "admitted", AdmittedBefore: "admitted_before", Gone: "gone", Closed: "closed", Full: "full",
	TooLong: "too_long", Undrawn: "undrawn",
}

// Statuses returns the names of all outcomes.
func Statuses() []string { return statuses[:] }

// String returns the outcome's name; "error" for one that is none.
func (s Status) String() string {
	if int(s) < len(statuses) {
		return statuses[s]
	}
	return "error"
}

// Answer is what a store says to one visitor's join or poll. What the visitor is told is Told.
type Answer struct {
	Status Status
	// Place is the visitor's; not set when Gone, or when no place was taken.
	Place Place
	// Position is 1 for the next, and 0 while people gather. While Waiting only. It is exact up to 51,200. Beyond that
	// a store may answer up to 511 too high, but never higher than the place's token says (Renew).
	Position int64
	// WaitMillis is how long the visitor waits if as large a share of those ahead comes as came lately, at most a day. By
	// it the store paces polls. While Waiting; and when TooLong, how long a newcomer would wait, from the opening of an event on.
	WaitMillis int64
	// PeriodMillis is in how many milliseconds to poll again. While Waiting only.
	PeriodMillis int64
	// AdmittedAtMillis and ExpiresAtMillis are Unix milliseconds. When admitted only.
	AdmittedAtMillis, ExpiresAtMillis int64
	// AheadMillis is by how much the zone's clock, on which these two times are, was ahead of the store's at the
	// admission. It is not 0 for a while after the store's clock was set back. Until that is set back anew, repeated
	// calls get the same value for the same admission. When admitted only.
	AheadMillis int64
	// Number is the running number of the admission in the zone's data: what Totals.Admitted was after it. The store that lost data may
	// give a number again; LostAtMillis of the State then differs. When Admitted only; 0 for a server that admitted by itself.
	Number int64
	// Restored: the store had lost this place and has put it back.
	Restored bool
	// Remembered: the visitor waits far from the front, and a server answered from what the store had said at most a
	// second before. All of State but NowMillis is from then. The answer does not show that the store is there.
	Remembered bool
	// State is the zone as the call left it.
	State State
}

// Told is what a room tells a visitor: the store's answer, and what the server adds to it (packages zones and guard).
type Told struct {
	Answer
	// EstimateMillis is the expected wait from now, at most a day: by a sample of the line (package estimate), or the
	// WaitMillis of the store where there is none. While Waiting only.
	EstimateMillis int64
	// LowMillis and HighMillis are a range that holds the real wait four times out of five; both are 0 if it is not
	// known. Reason is why the estimate moved. While Waiting only.
	LowMillis, HighMillis int64
	Reason                Reason
	// Local: a server let the visitor in by itself, while the store was away.
	// The store knows nothing of it, so State is not set.
	Local bool
	// Early: the poll came before its time, and a server answered it from memory.
	// Of State, only Waiting and NowMillis are set.
	Early bool
}

// settledMillis is how long after a loss whoever polls as told has come back: the longest period, and pauses after refusals.
const settledMillis = 90_000

// Renew sets the place's Epoch and DueMillis from the state and the period of the same answer, so that the token made
// from it says how lately its visitor was in the line. Whoever comes back to a place that was set aside stands before
// others again. None of them is told a higher position than Place.Told: Renew lowers Position to it. Until others have come back
// after a loss, positions are too low, and may rise: up to Place.Told, which stays what was told before the loss.
func (a *Answer) Renew() {
	if a.Place.Told > 0 {
		a.Position = min(a.Position, a.Place.Told)
	}
	if !a.State.LostLine() || a.State.NowMillis >= a.State.LostAtMillis+settledMillis {
		a.Place.Told = a.Position
	}
	switch a.Status {
	case Waiting:
		a.Place.Epoch, a.Place.DueMillis, a.Place.AdmittedAtMillis = a.State.Epoch, a.State.NowMillis+a.PeriodMillis, 0
	case Admitted, AdmittedBefore:
		a.Place.Epoch, a.Place.DueMillis, a.Place.AdmittedAtMillis = a.State.Epoch, 0, a.AdmittedAtMillis
	default: // no place
	}
}

// State is a zone at one moment of the store's clock.
type State struct {
	// NowMillis is the zone's clock, Unix milliseconds.
	NowMillis int64
	// EdgeMicros: whoever arrived at or before this is released.
	EdgeMicros int64
	// LastArrivalMicros is the newest arrival the zone has given out.
	LastArrivalMicros int64
	// Waiting is how many are in the line. Released is how many of those have arrivals at or before the edge. Live is
	// how many of the released have not missed their appointment. Released - Live are overdue.
	Waiting, Released, Live int64
	// InWindow and InMinute count admissions in the last window and the last 60 s, phantoms included. WindowLimit is
	// the most that InWindow may reach, without the burst.
	InWindow, InMinute, WindowLimit int64
	// EdgePassed is how many visitors the edge reached lately. EdgeLive is how many of those were there.
	EdgePassed, EdgeLive int64
	// Inside is how many are inside, in a zone with a cap. InsideLost of them are not known: they may be inside, since the
	// store has lost data. Full says that there is less than a window's worth of room inside, so that the pace is that of
	// those who leave. LongestMillis is the longest that an admission can be inside without being renewed, by the settings
	// of the last 24 hours.
	Inside, InsideLost int64
	Full               bool
	LongestMillis      int64
	// Epoch tells the zone's data from other data under the same name: of a zone that was deleted, of another
	// installation, or of a zone whose loss nobody remembers. It is the Unix second in which the data began.
	Epoch uint32
	// LostAtMillis is when the store last noticed that it may have lost data. A server that has not heard of this loss
	// before tells the store the departures that it remembers.
	LostAtMillis int64
	// OpensAtMillis is when the first visitors of an event are admitted, SettlesAtMillis is when positions are told. Both
	// are 0 except while people gather or are settled.
	SettlesAtMillis, OpensAtMillis int64
}

// LostLine reports whether the store noticed that it may have lost data of this line. A zone that nobody remembers may
// have been lost as well, so it begins with a loss, in the second of its epoch: places may come back, but no line is known.
func (s *State) LostLine() bool { return s.LostAtMillis > 1000*(int64(s.Epoch)+2) }

// Gathers reports whether people gather for an event: then nobody is told a position.
func (s *State) Gathers() bool { return s.NowMillis < s.SettlesAtMillis }

// Stats is what operators see of a zone.
type Stats struct {
	State  State
	Totals Totals
	// EstimateMillis is the expected wait of a visitor who joins now. LowMillis and HighMillis are its range, as in
	// Answer: the stores do not set these two.
	EstimateMillis, LowMillis, HighMillis int64
	// Aside is how many places are set aside. Those whose time is over are counted for up to keepPlaceSeconds more.
	Aside int64
	// MostInSecond is the most admissions in any 1,000 ms that ended in this minute of the zone's clock or in the
	// minute before. Phantoms are not counted.
	MostInSecond int64
	// Waits counts admissions since the zone's data began, by how long the visitor had waited since the arrival in its
	// token. Visitors who were let straight in are included. The index is that of window.WaitBucket. The last count
	// is not 0.
	Waits []int64
	// Stays counts the same way how long those have been inside who are no longer, unused admissions left out.
	Stays []int64
}

// Memory is what a server remembers of a zone's line, for a store that lost it. The zero value is right for a zone that
// nobody remembers: then a place of any epoch is put back, if its token is fresh now.
type Memory struct {
	// Epoch is that of State.
	Epoch uint32 `json:"epoch,omitempty"`
	// SeenAtMillis is until when the line is known to have stood, in Unix milliseconds. A visitor who was due more than
	// the idle timeout before that is not put back.
	SeenAtMillis int64 `json:"seenAtMillis,omitempty"`
	// EdgeMicros lets those who were released before the loss go first.
	EdgeMicros int64 `json:"edgeMicros"`
	// LastArrivalMicros is the newest known arrival that was given out. It bounds which places may be put back.
	LastArrivalMicros int64 `json:"lastArrivalMicros"`
	// Inside is how many may have been inside, in a zone with a cap, and LongestMillis for how long: see State.
	Inside        int64 `json:"-"`
	LongestMillis int64 `json:"-"`
	// MadeBy is zone.ByConfig for a zone that the store, as far as is known, never had. It is empty for a zone that is
	// put back, which is not recorded as a change.
	MadeBy string `json:"-"`
}

// Sweep is the outcome of one batch of a sweep.
type Sweep struct {
	// Next is the cursor for the next batch; 0 when the zone is done.
	Next uint64
	// Examined and Removed count tokens in this batch.
	Examined, Removed int64
	// Busy: another server holds this zone's lease; nothing was done.
	Busy bool
}

// Found is what a store has of a visitor. What it has nothing of is 0.
type Found struct {
	// Position is the place in the line, from 1; ArrivedAtMicros of one in the line or set aside. AsideAtMillis is when the place was
	// set aside.
	Position, ArrivedAtMicros, PolledAtMillis, AsideAtMillis int64
	// AdmittedAtMillis and ExpiresAtMillis are those of the latest admission, InsideUntilMillis of one in a zone with a cap that is
	// inside. Used says that its session has begun.
	AdmittedAtMillis, ExpiresAtMillis, InsideUntilMillis int64
	Used                                                 bool
}
