package event_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/event"
)

// TestOrdersAreUniform: of five visitors each of the 120 orders is as likely, by the chi-square test, so nobody's number
// says anything of another's.
func TestOrdersAreUniform(t *testing.T) {
	t.Parallel()
	const visitors, seeds, orders = 5, 24_000, 120
	d := event.Draw{FromMicros: 1_000_000, UptoMicros: 601_000_000}
	var tickets [visitors]event.Ticket
	for v := range tickets {
		tickets[v] = event.TicketOf("Z", "noon", [8]byte{7: byte(v)})
	}
	counts := make(map[[visitors]int]float64)
	for s := range seeds {
		var seed event.Seed
		binary.BigEndian.PutUint64(seed[:], uint64(s))
		var scores [visitors]int64
		for v, ticket := range tickets {
			scores[v] = d.Score(seed, ticket)
		}
		var numbers [visitors]int
		for v, score := range scores {
			for _, other := range scores {
				if other < score {
					numbers[v]++
				}
			}
		}
		counts[numbers]++
	}
	const mean = float64(seeds) / orders
	chi := (orders - float64(len(counts))) * mean // of orders that never were
	for _, n := range counts {
		chi += (n - mean) * (n - mean) / mean
	}
	if chi > 185.2 { // of 119 degrees of freedom, once in 10,000
		t.Errorf("chi-square %.1f", chi)
	}
}

func TestTicketsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[event.Ticket]bool{}
	for _, one := range []struct {
		zone, event string
		id          [8]byte
	}{{"Z", "a", [8]byte{1}}, {"Z", "b", [8]byte{1}}, {"Y", "a", [8]byte{1}}, {"Z", "a", [8]byte{2}}, {"Za", "", [8]byte{1}}} {
		ticket := event.TicketOf(one.zone, one.event, one.id)
		if seen[ticket] {
			t.Errorf("%+v has the ticket of another", one)
		}
		seen[ticket] = true
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	base := event.Event{Name: "a", PreQueueAt: "2026-12-01T11:00:00Z", OpensAt: "2026-12-01T12:00:00Z"}
	other := event.Event{Name: "b", PreQueueAt: "2026-12-01T13:30:00Z", OpensAt: "2026-12-01T14:00:00Z"}
	for want, change := range map[string]func(*event.Event){
		"name":           func(e *event.Event) { e.Name = "a b" },
		"must be a time": func(e *event.Event) { e.OpensAt = "12:00" },
		`opensAt "0001-01-01T00:00:00Z" must be a time such as 2026-12-01T12:00:00+01:00, from 1970 on`: func(e *event.Event) { e.PreQueueAt, e.OpensAt = "", "0001-01-01T00:00:00Z" },
		"is no time in Europe/Berlin: the clocks there show 2027-03-28T03:30:00+02:00 then":             func(e *event.Event) { e.OpensAt = "2027-03-28T02:30:00+01:00[Europe/Berlin]" },
		"opensAt is missing":                             func(e *event.Event) { e.OpensAt = "" },
		"closes would not be after opens":                func(e *event.Event) { e.ClosesAt = e.OpensAt },
		"ends would not be after opens":                  func(e *event.Event) { e.EndsAt = e.PreQueueAt },
		"order":                                          func(e *event.Event) { e.Order = "size" },
		"drawClosesSeconds":                              func(e *event.Event) { e.DrawClosesSeconds = 5 },
		`texts: "en" must not hold control characters`:   func(e *event.Event) { e.Texts.Before = map[string]string{"en": "at \x00 noon"} },
		`texts: "en" must not be longer than 1000 bytes`: func(e *event.Event) { e.Texts.After = map[string]string{"en": strings.Repeat("x", 1001)} },
		"nobody could gather":                            func(e *event.Event) { e.Order, e.PreQueueAt = event.OrderDraw, "2026-12-01T11:59:40Z" },
		`"a" overlaps "b": that begins at 2026-12-01T13:30:00Z, this is not over until 2026-12-01T13:30:00Z`: func(e *event.Event) { e.EndsAt = "2026-12-01T13:30:00Z" },
		`has two events "b"`: func(e *event.Event) { e.Name, e.PreQueueAt, e.OpensAt = "b", "", "2026-12-05T12:00:00Z" },
	} {
		e := base
		change(&e)
		if fault := event.Fault([]event.Event{other, e}); !strings.Contains(fault, want) {
			t.Errorf("%q, want %q", fault, want)
		}
	}
	if fault := event.Fault([]event.Event{other, base}); fault != "" {
		t.Error(fault)
	}
}
