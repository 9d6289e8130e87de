package store

import (
	"context"
	"crypto/sha256"
	"time"
)

// Spender remembers what can be used once: passes in links, tickets.
type Spender interface {
	// Visit takes in a visit by a ticket, which the key names, and returns the newest that is known: of two, that with the later
	// AtMillis; of one, the later of each of its other times. So calls may be repeated, and come in any order. The zero value
	// only asks, and is returned if no visit is known. A visit is forgotten when its end has been past for VisitKept. The key is
	// spent as well. Like Spend, it never returns ErrZoneUnknown or ErrZoneDeleted.
	Visit(ctx context.Context, key string, v Visit) (newest Visit, err error)

	// Spend reports whether a key is used for the first time. From then on the key is spent for life: 0 to
	// MaxSpendLife, a longer one counts as MaxSpendLife. Meanwhile first is false for everybody but the spender by, who
	// may repeat the call, since the answer may have been lost: so by is something that nobody else knows.
	// A life of 0 spends nothing: first then says whether the key could be spent.
	//
	// No operator can make a key good again. A key is forgotten when its life has been over for SpendSetBack: a clock
	// that is set back by no more makes no key good again whose life is not over by that clock. The embedded store remembers
	// keys through restarts. A Redis that loses its data forgets them.
	// key and by may be of any length; a store keeps their SpendIDs alone. It never returns ErrZoneUnknown or
	// ErrZoneDeleted.
	Spend(ctx context.Context, key, by string, life time.Duration) (first bool, err error)
}

// Visit is a visit by a ticket, in Unix milliseconds.
type Visit struct {
	// AtMillis names the visit's admission: see line.Admission. UntilMillis is until when the visit lasts: its pass, or its
	// latest session. BegunMillis is when that session began, 0 if none did.
	AtMillis, UntilMillis, BegunMillis int64
}

// Newer returns the newest of two visits: see Spender.Visit.
func (v Visit) Newer(other Visit) Visit {
	if v.AtMillis != other.AtMillis {
		if v.AtMillis > other.AtMillis {
			return v
		}
		return other
	}
	return Visit{v.AtMillis, max(v.UntilMillis, other.UntilMillis), max(v.BegunMillis, other.BegunMillis)}
}

const (
	// VisitKept is for how long a ticket is used after its visit: operators are told to have tickets expire within it.
	VisitKept = 24 * time.Hour
	// MaxSpendLife is an hour more than the longest life of a pass: clocks of servers differ.
	MaxSpendLife = 25 * time.Hour
	// SpendSetBack is by how much a store's clock can be set back: far more than time servers correct at once.
	SpendSetBack = time.Minute
)

// SpendID stands for a key or a spender in a store.
type SpendID [16]byte

// SpendIDOf returns the beginning of the text's SHA-256: nobody finds two texts with the same one.
func SpendIDOf(text string) SpendID {
	sum := sha256.Sum256([]byte(text))
	return SpendID(sum[:len(SpendID{})])
}
