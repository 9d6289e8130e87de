package writer

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/netip"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// keyRow is the name of a key's row.
	keyRow = "key"
	// keyBytes is how long a key is.
	keyBytes = 32
	// pseudonymBytes is enough for 10,000,000 visitors: the odds that two of them share one are 1 in 10^8.
	pseudonymBytes = 9
	// lookWithin bounds the asking for a key. keyAge is how long a key is used before the store is asked for it again, and how long one is
	// remembered that is not used: one that was destroyed is used for no longer.
	lookWithin = 2 * time.Second
	keyAge     = time.Second
)

// pseudonyms knows the keys: one a zone and day. The server that needs it first makes it, and the store keeps the first.
type pseudonyms struct {
	store store.Historian
	keep  time.Duration
	now   func() time.Time
	keys  map[zoneDay]*key
}

// zoneDay is a zone on a day, counted from 1970 (UTC).
type zoneDay struct {
	zone string
	day  int64
}

type key struct {
	bytes []byte
	asked time.Time
}

// Day is the day of an arrival in microseconds, counted from 1970 (UTC).
func Day(arrivedMicros int64) int64 { return arrivedMicros / (24 * time.Hour).Microseconds() }

// give gives the entries the pseudonyms of their visitors and, where as does not know the number, of their networks.
func (p *pseudonyms) give(ctx context.Context, all []entry, as func(netip.Addr) string) error {
	for i := range all {
		e := &all[i]
		if e.id == (line.ID{}) || e.Who != "" {
			continue
		}
		k, err := p.key(ctx, zoneDay{e.Zone, Day(e.Arrived)})
		if err != nil {
			return err
		}
		e.Who = PseudonymOf(k, e.id)
		if e.from.IsValid() {
			e.Network = cmp.Or(as(e.from), network(k, e.from))
		}
	}
	return nil
}

// PseudonymOf is what a visitor is called in the log, by the key of the day of its arrival.
func PseudonymOf(key []byte, id line.ID) string { return pseudonym(key, "visitor", id[:]) }

// pseudonym is what stands in the log for something of that kind.
func pseudonym(key []byte, kind string, of []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write(append([]byte(kind+"\x00"), of...))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:pseudonymBytes])
}

// network is the pseudonym of the network of an address: its /24 of IPv4 or its /48 of IPv6.
func network(key []byte, from netip.Addr) string {
	all := zone.NetworksOf(from)
	prefix := all[0]
	if from.Is4() {
		prefix = all[1]
	}
	return "net-" + pseudonym(key, "network", []byte(prefix.String()))
}

// key returns the key of a day. One that the store has lost is put back on the day itself.
func (p *pseudonyms) key(ctx context.Context, of zoneDay) ([]byte, error) {
	known := p.keys[of]
	if known != nil && p.now().Sub(known.asked) < keyAge {
		return known.bytes, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	is, err := Key(ctx, p.store, of.zone, of.day)
	if err == nil && is == nil {
		is = newKey()
		if known != nil && of.day >= Day(p.now().UnixMicro()) {
			is = known.bytes
		}
		err = p.store.KeepMinutes(ctx, keysOf(of.zone), p.keep, []store.Minute{{Minute: of.day * store.MinutesOfDay, By: keyRow, Row: is}})
		if err == nil {
			is, err = Key(ctx, p.store, of.zone, of.day) // another server may have been first
		}
	}
	if err != nil || is == nil {
		return nil, fmt.Errorf("admissions log: the key of the pseudonyms: %w", err)
	}
	p.keys[of] = &key{is, p.now()}
	return is, nil
}

// forget forgets the keys that were not used lately.
func (p *pseudonyms) forget() {
	maps.DeleteFunc(p.keys, func(_ zoneDay, k *key) bool { return p.now().Sub(k.asked) >= keyAge })
}

// keysOf is under which name the keys of a zone are kept, as the minutes of a zone are. No zone has such a name.
func keysOf(zoneID string) string { return zoneID + "~pseudonyms" }

func newKey() []byte {
	fresh := make([]byte, keyBytes)
	_, _ = rand.Read(fresh) // it never fails
	return fresh
}

// Key returns the key of a zone's pseudonyms on a day; nil if there is none, or not any more.
func Key(ctx context.Context, from store.History, zoneID string, day int64) ([]byte, error) {
	rows, err := from.Minutes(ctx, keysOf(zoneID), day*store.MinutesOfDay, day*store.MinutesOfDay+1)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0].Row, nil
}

// Forget destroys the key of a zone's pseudonyms on a day: the store has another in its place, which every server goes by within two seconds. It
// can be repeated.
func Forget(ctx context.Context, in store.Historian, zoneID string, day int64, keep time.Duration) error {
	return in.KeepMinutes(ctx, keysOf(zoneID), keep, []store.Minute{{Minute: day * store.MinutesOfDay, By: keyRow, Row: newKey(), Replaces: true}})
}
