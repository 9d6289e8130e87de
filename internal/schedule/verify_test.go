package schedule

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
)

const ticketBytes = len(event.Ticket{})

// drawnList is a draw of n visitors, and its list.
func drawnList(n int, seed event.Seed) (d Draw, list []byte) {
	d.ZoneID, d.Event, d.Seed, d.Commitment = zoneID, "noon", hex.EncodeToString(seed[:]), seed.Commitment()
	d.FromMicros, d.UptoMicros = 1_800_000_000_000_000, 1_800_000_600_000_000
	all := make([]event.Ticket, n)
	for i := range all {
		var id line.ID
		binary.BigEndian.PutUint64(id[:], uint64(i))
		all[i] = event.TicketOf(zoneID, "noon", id)
	}
	slices.SortFunc(all, func(a, b event.Ticket) int { return cmp.Compare(d.Score(seed, a), d.Score(seed, b)) })
	for _, t := range all {
		list = append(list, t[:]...)
	}
	d.sum(list)
	return d, list
}

// sum makes the draw that of the list, as a forger would who knows of the sum.
func (d *Draw) sum(list []byte) {
	sum := sha256.Sum256(list)
	d.Tickets, d.ListHash = len(list)/ticketBytes, hex.EncodeToString(sum[:])
}

// moved is the list with a ticket moved from one number to another, which is smaller.
func moved(list []byte, from, to int) []byte {
	at := func(n int) int { return (n - 1) * ticketBytes }
	ticket := slices.Clone(list[at(from):at(from+1)])
	return slices.Insert(slices.Delete(slices.Clone(list), at(from), at(from+1)), at(to), ticket...)
}

// TestForgedListIsRefused: whatever is changed, and also by one who makes the sums fit.
func TestForgedListIsRefused(t *testing.T) {
	t.Parallel()
	seed, other := event.Seed{1}, event.Seed{2}
	genuine, list := drawnList(100, seed)
	if fault := genuine.Fault(list, &genuine); fault != "" {
		t.Fatal(fault)
	}
	hexOf := func(s event.Seed) string { return hex.EncodeToString(s[:]) }
	swapped := moved(list, 45, 44)
	for name, tt := range map[string]struct {
		forge func(d *Draw)
		list  []byte
		says  string
	}{
		"a visitor moved":                      {nil, moved(list, 31, 6), "the list was changed: its SHA-256 is"},
		"a visitor moved, the sum made to fit": {func(d *Draw) { d.sum(moved(list, 31, 6)) }, moved(list, 31, 6), "has number 6, and the seed puts it behind"},
		"two changed places":                   {func(d *Draw) { d.sum(swapped) }, swapped, "which has number 45; 1 of 99 neighbours stand so"},
		"a changed seed":                       {func(d *Draw) { d.Seed = "ff" + d.Seed[2:] }, list, "the seed is not the one of the commitment"},
		"no seed at all":                       {func(d *Draw) { d.Seed = "seed" }, list, "is not 32 bytes"},
		"the seed of another draw":             {func(d *Draw) { d.Seed = hexOf(other) }, list, "the seed is not the one of the commitment"},
		"another draw's seed and commitment":   {func(d *Draw) { d.Seed, d.Commitment = hexOf(other), other.Commitment() }, list, "the order is not that of the seed"},
		"a ticket dropped":                     {nil, list[ticketBytes:], "the list has 1584 bytes, and should have 100 tickets of 16"},
		"half a ticket":                        {nil, list[:len(list)-8], "some were added or dropped"},
		"a ticket added":                       {nil, append(slices.Clone(list), make([]byte, ticketBytes)...), "some were added or dropped"},
		"a ticket twice": {func(d *Draw) { d.sum(slices.Concat(list, list[len(list)-ticketBytes:])) },
			slices.Concat(list, list[len(list)-ticketBytes:]), "is there twice"},
		"no room for places": {func(d *Draw) { d.UptoMicros = d.FromMicros }, list, "there are no places"},
	} {
		forged := genuine
		if tt.forge != nil {
			tt.forge(&forged)
		}
		if fault := forged.Fault(tt.list, nil); !strings.Contains(fault, tt.says) {
			t.Errorf("%s: %q, want %q", name, fault, tt.says)
		}
	}

	// Who forges all of it is found out by who has kept the draw from before.
	again, itsList := drawnList(100, other)
	less, lessList := genuine, list[:99*ticketBytes]
	less.sum(lessList)
	for fault, p := range map[string]struct {
		d    Draw
		list []byte
	}{"this is another draw: the commitment was": {again, itsList}, "the list was changed since it was published": {less, lessList}} {
		if own := p.d.Fault(p.list, nil); own != "" {
			t.Errorf("%s: by itself %q", fault, own)
		}
		if got := p.d.Fault(p.list, &genuine); !strings.Contains(got, fault) {
			t.Errorf("%q, want %q", got, fault)
		}
	}
}

// TestEqualPlaces may stand either way round.
func TestEqualPlaces(t *testing.T) {
	t.Parallel()
	d, list := drawnList(100, event.Seed{1})
	d.UptoMicros = d.FromMicros + 3
	for what, fits := range map[string]bool{"as it is": true, "two of one place": true, "the last is first": false} {
		changed := map[string][]byte{"as it is": list, "two of one place": moved(list, 10, 1), "the last is first": moved(list, 100, 1)}[what]
		d.sum(changed)
		if fault := d.Fault(changed, nil); (fault == "") != fits {
			t.Errorf("%s: %q", what, fault)
		}
	}
}
