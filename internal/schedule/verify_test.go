package schedule

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/token"
)

// drawnList is a draw of n visitors, in parts of 40.
func drawnList(n int, seed event.Seed) (p Published) {
	p.ZoneID, p.Event, p.Seed, p.Commitment = zoneID, "noon", hex.EncodeToString(seed[:]), seed.Commitment()
	p.FromMicros, p.UptoMicros, p.Tickets = 1_800_000_000_000_000, 1_800_000_600_000_000, n
	all := make([]event.Ticket, n)
	for i := range all {
		var id line.ID
		binary.BigEndian.PutUint64(id[:], uint64(i))
		all[i] = event.TicketOf(zoneID, "noon", id)
	}
	slices.SortFunc(all, func(a, b event.Ticket) int { return cmp.Compare(p.Score(seed, a), p.Score(seed, b)) })
	sum := sha256.New()
	for part := range slices.Chunk(all, 40) {
		p.Parts++
		one := Part{ZoneID: zoneID, Event: "noon", Part: p.Parts, First: (p.Parts-1)*40 + 1}
		for _, t := range part {
			sum.Write(t[:])
			one.Tickets = append(one.Tickets, hex.EncodeToString(t[:]))
		}
		p.List = append(p.List, one)
	}
	p.ListHash = hex.EncodeToString(sum.Sum(nil))
	return p
}

// TestForgedListIsRefused: whatever is changed, and also by one who makes the sums fit.
func TestForgedListIsRefused(t *testing.T) {
	t.Parallel()
	seed, other := event.Seed{1}, event.Seed{2}
	genuine := drawnList(100, seed)
	if fault := genuine.Fault(&genuine.Draw); fault != "" {
		t.Fatal(fault)
	}
	hexOf := func(s event.Seed) string { return hex.EncodeToString(s[:]) }
	// rehash is done by a forger who knows of the sum.
	rehash := func(p *Published) {
		sum := sha256.New()
		for _, part := range p.List {
			for _, ticket := range part.Tickets {
				raw, _ := hex.DecodeString(ticket)
				sum.Write(raw)
			}
		}
		p.ListHash = hex.EncodeToString(sum.Sum(nil))
	}
	move := func(p *Published) {
		list := p.List[0].Tickets
		moved := list[30]
		copy(list[6:31], list[5:30])
		list[5] = moved
	}
	drop := func(p *Published) { last := &p.List[2]; last.Tickets = last.Tickets[:19] }
	for name, tt := range map[string]struct {
		forge func(p *Published)
		says  string
	}{
		"a visitor moved":                      {move, "the list was changed: its SHA-256 is"},
		"a visitor moved, the sum made to fit": {func(p *Published) { move(p); rehash(p) }, "was moved: it has number 6, and the seed gives it number 31"},
		"two changed places":                   {func(p *Published) { l := p.List[1].Tickets; l[3], l[4] = l[4], l[3]; rehash(p) }, "was moved: it has number 44, and the seed gives it number 45"},
		"a changed seed":                       {func(p *Published) { p.Seed = "ff" + p.Seed[2:] }, "the seed is not the one of the commitment"},
		"no seed at all":                       {func(p *Published) { p.Seed = "seed" }, "is not 32 bytes"},
		"the seed of another draw":             {func(p *Published) { p.Seed = hexOf(other) }, "the seed is not the one of the commitment"},
		"another draw's seed and commitment":   {func(p *Published) { p.Seed, p.Commitment = hexOf(other), other.Commitment() }, "as with the seed of another draw"},
		"another zone's part":                  {func(p *Published) { p.List[1].ZoneID = "OTHER" }, "part 2 is of noon in OTHER"},
		"a part left out":                      {func(p *Published) { p.List = slices.Delete(p.List, 1, 2) }, "part 2 is missing"},
		"the last part left out":               {func(p *Published) { p.List = p.List[:2] }, "the list has 2 parts, and should have 3"},
		"a ticket dropped":                     {drop, "the list has 99 tickets, and should have 100"},
		"a ticket dropped within":              {func(p *Published) { p.List[0].Tickets = p.List[0].Tickets[1:] }, "part 2 is missing, or some of it"},
		"a ticket added":                       {func(p *Published) { l := &p.List[2]; l.Tickets = append(l.Tickets, strings.Repeat("ab", 16)) }, "the list has 101 tickets"},
		"a ticket twice":                       {func(p *Published) { l := p.List[2].Tickets; l[19] = l[18] }, "is there twice, with the numbers 99 and 100"},
		"what is no ticket":                    {func(p *Published) { p.List[0].Tickets[0] = "x" }, "number 1 is no ticket"},
		"no room for places":                   {func(p *Published) { p.UptoMicros = p.FromMicros }, "there are no places"},
	} {
		forged := drawnList(100, seed)
		tt.forge(&forged)
		if fault := forged.Fault(nil); !strings.Contains(fault, tt.says) {
			t.Errorf("%s: %q, want %q", name, fault, tt.says)
		}
	}

	// Who forges all of it is found out by who has kept the draw from before.
	again, less := drawnList(100, other), drawnList(100, seed)
	drop(&less)
	less.Tickets = 99
	rehash(&less)
	for fault, p := range map[string]Published{
		"this is another draw: the commitment was": again, "the list was changed since it was published": less,
	} {
		if own := p.Fault(nil); own != "" {
			t.Errorf("%s: by itself %q", fault, own)
		}
		if got := p.Fault(&genuine.Draw); !strings.Contains(got, fault) {
			t.Errorf("%q, want %q", got, fault)
		}
	}
}

// TestEqualPlaces may stand either way round.
func TestEqualPlaces(t *testing.T) {
	t.Parallel()
	p := drawnList(100, event.Seed{1})
	p.UptoMicros = p.FromMicros + 3
	if fault := p.Fault(nil); fault != "" {
		t.Error(fault)
	}
	list := p.List[0].Tickets
	slices.Reverse(list[:10])
	p.ListHash = ""
	if fault := p.Fault(nil); fault != "" {
		t.Error(fault)
	}
	list[0], p.List[2].Tickets[19] = p.List[2].Tickets[19], list[0]
	if fault := p.Fault(nil); fault == "" {
		t.Error("the last is first")
	}
}

// TestReadPublished reads what is sent, and finds a visitor by the token.
func TestReadPublished(t *testing.T) {
	t.Parallel()
	want := drawnList(100, event.Seed{1})
	var sent bytes.Buffer
	all := json.NewEncoder(&sent)
	for _, one := range []any{want.Draw, want.List[0], want.List[1], want.List[2]} {
		if err := all.Encode(one); err != nil {
			t.Fatal(err)
		}
	}
	whole := sent.String()
	p, err := ReadPublished(&sent)
	if fault := p.Fault(&want.Draw); err != nil || fault != "" {
		t.Errorf("%q, %v", fault, err)
	}
	keys, err := token.NewKeys([]byte(strings.Repeat("k", token.MinSecretBytes)))
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(100) {
		place := line.Place{ArrivedAtMicros: 1, Epoch: uint32(n % 2)} // both versions of tokens
		binary.BigEndian.PutUint64(place.ID[:], n)
		ticket, ok := OwnTicket(zoneID, "noon", keys.Sign(zoneID, place))
		mine := event.TicketOf(zoneID, "noon", place.ID)
		if number := p.Number(ticket); !ok || ticket != hex.EncodeToString(mine[:]) || number < 1 ||
			p.List[(number-1)/40].Tickets[(number-1)%40] != ticket {
			t.Errorf("visitor %d: ticket %s, number %d", n, ticket, number)
		}
	}
	if _, ok := OwnTicket(zoneID, "noon", "token"); ok || p.Number("00") != 0 {
		t.Error("a ticket for nobody")
	}
	for _, text := range []string{"", "{}", "[]", whole[:len(whole)-30]} {
		if _, err := ReadPublished(strings.NewReader(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
