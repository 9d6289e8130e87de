package writer

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/netip"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// keyRow is the name under which the store keeps the key of a day, beside that day's minutes. Its value is no JSON.
	keyRow = "pseudonyms"
	// keyBytes is how long a key is. The byte before it makes it no JSON.
	keyBytes = 32
	// pseudonymBytes is enough for 10,000,000 visitors: the odds that two of them share one are 1 in 10^8.
	pseudonymBytes = 9
	// lookWithin bounds the asking for a key. keyAge is how long a key is used before the store is asked for it again.
	lookWithin = 2 * time.Second
	keyAge     = time.Minute
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
		is = make([]byte, 1+keyBytes)
		if known != nil && of.day >= Day(p.now().UnixMicro()) {
			copy(is[1:], known.bytes)
		} else if _, err := rand.Read(is[1:]); err != nil {
			return nil, fmt.Errorf("admissions log: %w", err)
		}
		err = p.store.KeepMinutes(ctx, of.zone, p.keep, []store.Minute{{Minute: of.day * store.MinutesOfDay, By: keyRow, Row: is}})
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
	for of, k := range p.keys {
		if p.now().Sub(k.asked) > keyAge {
			delete(p.keys, of)
		}
	}
}

// Key returns the key of a zone's pseudonyms on a day; nil if there is none, or not any more.
func Key(ctx context.Context, from store.History, zoneID string, day int64) ([]byte, error) {
	rows, err := from.Minutes(ctx, zoneID, day*store.MinutesOfDay, day*store.MinutesOfDay+1)
	for _, row := range rows {
		if row.By == keyRow && len(row.Row) == 1+keyBytes {
			return row.Row[1:], nil
		}
	}
	return nil, err
}
