// Package line is the vocabulary that the rooms and both stores share: who
// waits, where, and what a store answers. It does no I/O.
package line

import "errors"

// Errors of a store. Compare with errors.Is.
var (
	// ErrZoneUnknown: the store has no such zone, and did not delete it
	// lately. If a server remembers the zone, the store has lost it.
	ErrZoneUnknown = errors.New("line: zone unknown")
	// ErrZoneDeleted: an operator deleted the zone; it must not be put back.
	ErrZoneDeleted = errors.New("line: zone deleted")
	// ErrZoneChanged: the settings are not those that the caller had read;
	// read them again and repeat the change.
	ErrZoneChanged = errors.New("line: zone changed meanwhile")
	// ErrStoreUnavailable: the store did not answer in time. Nothing is known
	// of the call's effect; repeating it is safe.
	ErrStoreUnavailable = errors.New("line: store unavailable")
	// ErrFormat: a newer version has written what is kept, in a format that this
	// one does not know. Nothing was changed.
	ErrFormat = errors.New("line: data of a newer format")
	// ErrSecrets: servers that use the store have other secrets than this one.
	// Each would refuse the tokens of the other.
	ErrSecrets = errors.New("line: other servers of the store have other secrets")
)

// ID names a visitor within a zone: 64 random bits, or a keyed hash of the
// visitor's clientId. As a member of the sorted set it costs 16 bytes of Redis
// memory where a UUID's 36 characters cost 48.
type ID [8]byte

// Place is what a token carries: who, and since when (Unix microseconds, on
// the store's clock; strictly increasing within a zone's data). ID and
// ArrivedAtMicros name the place. Epoch and DueMillis say how fresh the token is;
// they matter only where a place is unknown, and may have been lost.
type Place struct {
	ID              ID
	ArrivedAtMicros int64
	// Epoch is that of the zone's data when the token was signed: see State. 0 for
	// a token of a line that was begun with tokens of version 1.
	Epoch uint32
	// DueMillis is when the visitor was told to poll again, Unix milliseconds on
	// the store's clock: nobody is swept before that and the idle timeout. 0 where
	// nothing vouches for the place: the visitor was admitted.
	DueMillis int64
	// ScoreMicros is where a place stands that a draw has given, in place of its arrival; 0
	// for one that stands where it arrived. No token carries it, and no answer: whoever
	// asks a store works it out (event.Draw).
	ScoreMicros int64
}

// StandsAtMicros is where the place stands in the line.
func (p Place) StandsAtMicros() int64 {
	if p.ScoreMicros > 0 {
		return p.ScoreMicros
	}
	return p.ArrivedAtMicros
}

// Departure is a place that is no more: its visitor left, or was admitted. Servers
// remember the latest, and tell them to a store that may have lost them.
type Departure struct {
	Place Place
	// AdmittedAtMillis is 0 for one who left.
	AdmittedAtMillis int64
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
	// Gone: swept, left, or the admission has expired. Join again.
	Gone
	// Closed: no place was taken, the zone takes no newcomers.
	Closed
	// Full: no place was taken, maxWaiting wait already.
	Full
	// Undrawn: people gather for a draw, and the call had no score of it. No place was
	// taken or put back: whoever asked has to read the zone's settings anew.
	Undrawn
)

// statuses name the outcomes, as metrics write them.
var statuses = [...]string{
	Waiting: "waiting", Admitted: "admitted", AdmittedBefore: "admitted_before", Gone: "gone", Closed: "closed", Full: "full",
	Undrawn: "undrawn",
}

// String returns the outcome's name; "error" for one that is none.
func (s Status) String() string {
	if int(s) < len(statuses) {
		return statuses[s]
	}
	return "error"
}

// Answer is what a store says to one visitor's join or poll.
type Answer struct {
	Status Status
	// Place is the visitor's; not set when Gone, Closed or Full.
	Place Place
	// Position is 1 for the next, and 0 while people gather. While Waiting only. Exact up to 51,200; beyond
	// that a store may answer up to 511 too high, but never higher than before.
	Position int64
	// EstimateMillis is the expected wait from now, at most a day. While Waiting only.
	EstimateMillis int64
	// LowMillis and HighMillis hold the real wait four times of five; both 0 where that is
	// not known. Reason is why the estimate moved. While Waiting only. No store says these:
	// package estimate does.
	LowMillis, HighMillis int64
	Reason                Reason
	// PeriodMillis is when to poll again. While Waiting only.
	PeriodMillis int64
	// AdmittedAtMillis and ExpiresAtMillis are Unix milliseconds. When admitted only.
	AdmittedAtMillis, ExpiresAtMillis int64
	// AheadMillis is by how much the zone's clock, on which these are, was ahead of the
	// store's at the admission: it is, for a while, where that was set back. As long as
	// that is not set again, it is the same for the same admission. When admitted only.
	AheadMillis int64
	// Restored: the store had lost this place and has put it back.
	Restored bool
	// Local: a server let the visitor in by itself, while the store was away.
	// The store knows nothing of it, so State is not set.
	Local bool
	// Early: the poll came before its time, and a server answered it from memory.
	// Of State, only Waiting and NowMillis are set.
	Early bool
	// Remembered: the visitor waits far from the front, and a server answered by what the
	// store had said at most a second before. State is of then, but for NowMillis. It does
	// not say that the store is there.
	Remembered bool
	// State is the zone as the call left it.
	State State
}

// Renew has the place's token say how lately its visitor was in the line, by the
// state and the period of the same answer.
func (a *Answer) Renew() {
	switch a.Status {
	case Waiting:
		a.Place.Epoch, a.Place.DueMillis = a.State.Epoch, a.State.NowMillis+a.PeriodMillis
	case Admitted, AdmittedBefore:
		a.Place.Epoch, a.Place.DueMillis = a.State.Epoch, 0
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
	// Waiting is how many are in the line; Released of them have arrivals at
	// or before the edge; Live of those have not missed their appointment.
	// Overdue is Released - Live.
	Waiting, Released, Live int64
	// InWindow and InMinute count admissions in the last window and the last
	// 60 s, lost ones that may have been included; WindowLimit is the most
	// that InWindow may reach (Burst apart).
	InWindow, InMinute, WindowLimit int64
	// EdgePassed of those whom the edge reached lately, EdgeLive were there.
	EdgePassed, EdgeLive int64
	// Epoch tells the zone's data from those of another zone of that name: of one
	// that was deleted, of another installation, or of one whose loss nobody
	// remembers. It is the Unix second in which the data began. 0 while a line goes
	// on that was begun with tokens of version 1.
	Epoch uint32
	// LostAtMillis is when the store last noticed that it may have lost something.
	// A server to which it is news tells the store the departures it remembers.
	LostAtMillis int64
	// While people gather for an event or are settled, OpensAtMillis is when the first are
	// let in, and SettlesAtMillis when positions are told; both 0 at other times.
	SettlesAtMillis, OpensAtMillis int64
}

// Gathers reports whether nobody hears of a position.
func (s *State) Gathers() bool { return s.NowMillis < s.SettlesAtMillis }

// Stats is what operators see of a zone.
type Stats struct {
	State  State
	Totals Totals
	// EstimateMillis is the wait of one who joins now. LowMillis and HighMillis hold it four times of five;
	// both 0 where that is not known. No store says these two: see Answer.
	EstimateMillis, LowMillis, HighMillis int64
	// MostInSecond is the most admissions in any 1,000 ms that ended in this minute of
	// the zone's clock or the one before. What a lost log held is not among them.
	MostInSecond int64
	// Waits count the admitted by how long they had waited since the arrival
	// in their token, those let straight in included, since the zone's data
	// began. The index is window.WaitBucket's; the last is not 0.
	Waits []int64
}

// Memory is what a server remembers of a zone's line, to hand to a store that
// lost it. The zero value is right for a zone that nobody remembers: then any
// epoch will do, and only tokens that are fresh now.
type Memory struct {
	// Epoch is State's. 0 with a SeenAtMillis is that of a line that was begun
	// with tokens of version 1, which do not say how fresh they are.
	Epoch uint32 `json:"epoch,omitempty"`
	// SeenAtMillis is until when the line is known to have stood, Unix milliseconds.
	// Whoever was due more than the idle timeout before that is not put back.
	SeenAtMillis int64 `json:"seenAtMillis,omitempty"`
	// EdgeMicros lets those who were released before the loss go first.
	EdgeMicros int64 `json:"edgeMicros"`
	// LastArrivalMicros bounds whose places may be put back.
	LastArrivalMicros int64 `json:"lastArrivalMicros"`
	// MadeBy is who makes a zone that the store never had, as far as is known:
	// zone.ByConfig. Empty for one that is put back, which is no change.
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
