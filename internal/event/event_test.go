package event_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
)

// TestScoresAreUniform: over many seeds, by the chi-square test; neither the id's order nor
// the seed shows in them.
func TestScoresAreUniform(t *testing.T) {
	t.Parallel()
	const seeds, visitors, cells = 200, 100, 50
	d := event.Draw{FromMicros: 1_000_000, UptoMicros: 1_000_000 + cells*1_000}
	var all, first [cells]float64
	for s := range seeds {
		var seed event.Seed
		binary.BigEndian.PutUint64(seed[:], uint64(s))
		for v := range visitors {
			var id [8]byte
			binary.BigEndian.PutUint64(id[:], uint64(v))
			cell := (d.Score(seed, event.TicketOf("Z", "noon", id)) - d.FromMicros) / 1_000
			all[cell]++
			if v == 0 {
				first[cell]++
			}
		}
	}
	for name, counts := range map[string][cells]float64{"all": all, "who came first": first} {
		var sum, chi float64
		for _, n := range counts {
			sum += n
		}
		for _, n := range counts {
			chi += (n - sum/cells) * (n - sum/cells) / (sum / cells)
		}
		if chi > 94.0 { // of 49 degrees of freedom, once in 10,000
			t.Errorf("%s: chi-square %.1f", name, chi)
		}
	}
}

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

// TestRecurs: each Friday at noon in Berlin, whatever the clock change does.
func TestRecurs(t *testing.T) {
	t.Parallel()
	e := event.Event{
		Name: "friday", PreQueueAt: "2026-10-23T11:00:00+02:00", OpensAt: "2026-10-23T12:00:00+02:00", EndsAt: "2026-10-23T15:00:00+02:00",
		Recurs: "CRON_TZ=Europe/Berlin 0 12 * * 5",
	}
	if fault := event.Fault([]event.Event{e}); fault != "" {
		t.Fatal(fault)
	}
	at := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	for _, want := range []string{"2026-10-23T10:00:00Z", "2026-10-30T11:00:00Z", "2026-11-06T11:00:00Z"} {
		o, ok := e.Next(at)
		if got := o.Opens.UTC().Format(time.RFC3339); !ok || got != want || o.Opens.Sub(o.PreQueue) != time.Hour || o.Ends.Sub(o.Opens) != 3*time.Hour {
			t.Errorf("%s, want %s: %+v", got, want, o)
		}
		at = o.Opens
	}
}

// TestRecursEverySoOften: as often after the first opening, whenever it is asked.
func TestRecursEverySoOften(t *testing.T) {
	t.Parallel()
	e := event.Event{Name: "weekly", OpensAt: "2026-10-23T12:00:00Z", EndsAt: "2026-10-23T14:00:00Z", Recurs: "@every 168h"}
	for asked, want := range map[string]string{
		"2026-10-23T11:59:59Z": "2026-10-23T12:00:00Z",
		"2026-10-23T12:00:00Z": "2026-10-30T12:00:00Z",
		"2026-10-23T14:00:00Z": "2026-10-30T12:00:00Z", // when it has ended
		"2026-10-30T11:59:59Z": "2026-10-30T12:00:00Z",
		"2026-11-20T15:00:00Z": "2026-11-27T12:00:00Z",
	} {
		at, err := time.Parse(time.RFC3339, asked)
		if err != nil {
			t.Fatal(err)
		}
		if o, ok := e.Next(at); !ok || o.Opens.Format(time.RFC3339) != want {
			t.Errorf("after %s: %v, want %s", asked, o.Opens, want)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	base := event.Event{Name: "a", PreQueueAt: "2026-12-01T11:00:00Z", OpensAt: "2026-12-01T12:00:00Z"}
	for want, change := range map[string]func(*event.Event){
		"name":               func(e *event.Event) { e.Name = "a b" },
		"must be a time":     func(e *event.Event) { e.OpensAt = "12:00" },
		"opensAt is missing": func(e *event.Event) { e.OpensAt = "" },
		"closesAt is not":    func(e *event.Event) { e.ClosesAt = e.OpensAt },
		"endsAt is not":      func(e *event.Event) { e.EndsAt = e.PreQueueAt },
		"order":              func(e *event.Event) { e.Order = "size" },
		"drawClosesSeconds":  func(e *event.Event) { e.DrawClosesSeconds = 5 },
		"with a draw":        func(e *event.Event) { e.Order, e.PreQueueAt = event.OrderDraw, "2026-12-01T11:59:40Z" },
		"recurs":             func(e *event.Event) { e.Recurs = "noon" },
		`recurs "CRON_TZ`:    func(e *event.Event) { e.Recurs = "CRON_TZ=Europe/Berlin" }, // and no schedule
		`recurs "TZ`:         func(e *event.Event) { e.Recurs = "TZ=" },
		"overlaps":           func(e *event.Event) { e.EndsAt, e.Recurs = "2026-12-03T12:00:00Z", "0 12 * * *" },
	} {
		e := base
		change(&e)
		if fault := event.Fault([]event.Event{e}); !strings.Contains(fault, want) {
			t.Errorf("%q, want %q", fault, want)
		}
	}
	if fault := event.Fault([]event.Event{base}); fault != "" {
		t.Error(fault)
	}
}

// TestEventsThatMeetLater: an event that has recurred for long, or recurs often, is in the way of one that is listed now.
func TestEventsThatMeetLater(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC)
	daily := event.Event{Name: "daily", OpensAt: "2027-01-01T12:00:00Z", EndsAt: "2027-01-01T14:00:00Z", Recurs: "0 12 * * *"}
	one := func(opens, ends string) event.Event { return event.Event{Name: "sale", OpensAt: opens, EndsAt: ends} }
	for name, tt := range map[string]struct {
		was, list []event.Event
		want      string
	}{
		"listed long ago": {[]event.Event{daily}, []event.Event{daily, one("2027-06-03T13:00:00Z", "2027-06-03T13:30:00Z")},
			`"daily" overlaps "sale": that begins at 2027-06-03T13:00:00Z, this is not over until 2027-06-03T14:00:00Z`},
		"in half a year":   {[]event.Event{daily}, []event.Event{one("2027-11-26T11:00:00Z", "2027-11-26T12:00:00Z"), daily}, `"sale" overlaps "daily"`},
		"the other is new": {[]event.Event{one("2027-11-26T13:00:00Z", "")}, []event.Event{daily, one("2027-11-26T13:00:00Z", "")}, `"daily" overlaps "sale"`},
		"each month":       {nil, []event.Event{daily, {Name: "first", OpensAt: "2027-07-01T10:00:00Z", EndsAt: "2027-07-01T16:00:00Z", Recurs: "0 10 1 * *"}}, "overlaps"},
		"between two":      {[]event.Event{daily}, []event.Event{daily, one("2027-06-03T14:00:01Z", "2027-06-04T11:59:59Z")}, ""},
		"as it was":        {[]event.Event{daily, one("2027-06-03T13:00:00Z", "")}, []event.Event{daily, one("2027-06-03T13:00:00Z", "")}, ""},
		"past":             {nil, []event.Event{one("2027-05-03T13:00:00Z", "")}, "is in the past"},
	} {
		if fault := event.ChangeFault(tt.was, tt.list, now); (fault == "") != (tt.want == "") || !strings.Contains(fault, tt.want) {
			t.Errorf("%s: %q, want %q", name, fault, tt.want)
		}
		if fault := event.Fault(tt.list); fault != "" {
			t.Errorf("%s: %q, so that a server which has the list from before would not start with it", name, fault)
		}
	}
}
