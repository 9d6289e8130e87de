package sale_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/simulate/sale"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is a draw at noon into which 1,000 come, 600 of whom enter a minute.
func noon() sale.Config {
	z := zone.Defaults("TICKETS")
	z.PerMinute = 60
	z.Events = []event.Event{{
		Name: "noon", PreQueueAt: "2026-12-01T11:00:00+01:00", OpensAt: "2026-12-01T12:00:00+01:00",
		Order: event.OrderDraw, Settings: event.Values{"perMinute": "600"},
	}}
	return sale.Config{Zone: z, Gather: 1_000, After: 100, Within: 3 * time.Minute, Arrive: sale.Evenly, Leave: 0.2, Seed: 1}
}

func play(t *testing.T, c sale.Config) sale.Report {
	t.Helper()
	r, err := sale.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Admitted+r.Left+r.Refused+r.Waits != r.Visitors || r.Waits > 0 {
		t.Errorf("not everybody is accounted for: %+v", r)
	}
	if r.TooEarly > 0 || r.MaxInWindow > int(r.WindowLimit) || r.MaxInSecond > int(r.PerSecond) || r.Fault != "" {
		t.Errorf("%d too early, %d of %d in a window, %d of %d in a second, %s",
			r.TooEarly, r.MaxInWindow, r.WindowLimit, r.MaxInSecond, r.PerSecond, r.Fault)
	}
	return r
}

// TestOpens: whichever way they come, it opens at its time, in the order of the draw, and
// capacity is used from the first moment on.
func TestOpens(t *testing.T) {
	t.Parallel()
	for _, arrive := range sale.Arrivals {
		c := noon()
		c.Arrive = arrive
		r := play(t, c)
		if r.Refused > 0 || r.Gathered != 1_000 || r.Tickets < 800 || r.WindowLimit != 60 {
			t.Errorf("%s: %d refused, %d gathered, %d tickets, a window of %d", arrive, r.Refused, r.Gathered, r.Tickets, r.WindowLimit)
		}
		if first, last := r.In[0], r.In[len(r.In)-1]; first.AtMs > 1_000 || last.N != r.Admitted || last.AtMs < int64(r.Admitted)*95 {
			t.Errorf("%s: the first in after %d ms, the last of %d after %d", arrive, first.AtMs, r.Admitted, last.AtMs)
		}
		if r.FirstWindows < 0.95 || r.OvertakenP99 > 0.5 {
			t.Errorf("%s: %.2f of the first two windows used, overtaken by %.2f windows' worth", arrive, r.FirstWindows, r.OvertakenP99)
		}
		if r.RequestsOpening > 2*r.RequestsGathering || r.StoreAway > 0 {
			t.Errorf("%s: %.0f requests a second about the opening, %.0f before; %d got 503", arrive, r.RequestsOpening, r.RequestsGathering, r.StoreAway)
		}
		for i, want := range []event.Step{event.StepPreQueue, event.StepOpens} {
			if len(r.Steps) != 2 || r.Steps[i].Step != want || r.Steps[i].LateMs < 0 || r.Steps[i].LateMs > 1_000 {
				t.Errorf("%s: steps %+v", arrive, r.Steps)
				break
			}
		}
	}
}

// TestOutageAtTheOpening: nobody is let in before the store is back, also where servers may
// admit by themselves; nobody loses the place, and nobody asks much more often.
func TestOutageAtTheOpening(t *testing.T) {
	t.Parallel()
	for i, policy := range []zone.FailurePolicy{zone.FailureHold, zone.FailureAdmit, zone.FailureHold} {
		c := noon()
		if i == 2 { // without a draw
			c.Zone.Events[0].Order = ""
		}
		c.Gather, c.Zone.Events[0].Settings["perMinute"] = 5_000, "1200"
		c.Outage, c.Zone.OnStoreFailure = 20*time.Second, policy
		r := play(t, c)
		c.Outage = 0
		if planned := play(t, c); 2*r.RequestsMost > 3*planned.RequestsMost {
			t.Errorf("%s: %d requests in a second, %d as planned", policy, r.RequestsMost, planned.RequestsMost)
		}
		most := int64(24_000)
		if policy == zone.FailureAdmit {
			most = 90_000 // the servers wait until none can have admitted by itself
		}
		if first := r.In[0].AtMs; r.Refused > 0 || first < 20_000 || first > most || r.StoreAway == 0 || r.OvertakenP99 > 1 {
			t.Errorf("%s: %d refused, the first in after %d ms, %d told to come again, overtaken by %.2f windows' worth",
				policy, r.Refused, first, r.StoreAway, r.OvertakenP99)
		}
		if policy == zone.FailureHold && (r.FirstWindows < 0.95 || r.Steps[1].LateMs < 20_000 || r.Steps[1].LateMs > 21_000) {
			t.Errorf("%.2f of the first two windows used, opened %d ms late", r.FirstWindows, r.Steps[1].LateMs)
		}
	}
}

// TestWithoutADraw: by arrival, and where nobody gathers.
func TestWithoutADraw(t *testing.T) {
	t.Parallel()
	c := noon()
	c.Zone.Events[0].Order = ""
	if r := play(t, c); r.Tickets > 0 || r.FirstWindows < 0.95 || r.OvertakenP99 > 0.5 || r.In[0].AtMs > 1_000 {
		t.Errorf("by arrival: %+v", r)
	}
	c.Zone.Events[0].PreQueueAt = ""
	if r := play(t, c); r.Gathered > 0 || r.Admitted == 0 || r.In[0].AtMs > 1_000 {
		t.Errorf("nobody gathers: %+v", r)
	}
}

// TestRepeatable: the same seed gives the same run, another another.
func TestRepeatable(t *testing.T) {
	t.Parallel()
	c := noon()
	c.Gather, c.Outage = 300, 20*time.Second
	first, second := play(t, c), play(t, c)
	if !reflect.DeepEqual(first, second) {
		t.Errorf("two runs of one seed differ:\n%+v\n%+v", first, second)
	}
	c.Seed = 2
	if reflect.DeepEqual(first, play(t, c)) {
		t.Error("two seeds gave the same run")
	}
	var out bytes.Buffer
	if err := sale.Print(&out, first, second); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"noon in TICKETS", "the store away for 20s", "in: 50 %", "each where the seed puts it", "-10 to +0 s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, &out)
		}
	}
}

// TestEventIsChosen: by its name, or the first to open.
func TestEventIsChosen(t *testing.T) {
	t.Parallel()
	c := noon()
	c.Gather, c.After = 50, 0
	dawn := event.Event{Name: "dawn", PreQueueAt: "2026-12-01T06:00:00+01:00", OpensAt: "2026-12-01T07:00:00+01:00", EndsAt: "2026-12-01T08:00:00+01:00"}
	c.Zone.Events = append(c.Zone.Events, dawn)
	for name, want := range map[string]string{"": "dawn", "noon": "noon", "dawn": "dawn"} {
		c.Event = name
		if r := play(t, c); r.Event != want {
			t.Errorf("%q played %s", name, r.Event)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*sale.Config){
		"nobody comes":      func(c *sale.Config) { c.Gather = 0 },
		"too many come":     func(c *sale.Config) { c.After = 5_000_000 },
		"less than nobody":  func(c *sale.Config) { c.After = -1 },
		"leave over 100 %":  func(c *sale.Config) { c.Leave = 1.1 },
		"come in no time":   func(c *sale.Config) { c.Within = 0 },
		"a long outage":     func(c *sale.Config) { c.Outage = time.Hour },
		"come somehow":      func(c *sale.Config) { c.Arrive = "somehow" },
		"no such event":     func(c *sale.Config) { c.Event = "dusk" },
		"no event":          func(c *sale.Config) { c.Zone.Events = nil },
		"a window of a day": func(c *sale.Config) { c.Zone.WindowSeconds = 86_400 },
		"an event too late": func(c *sale.Config) { c.Zone.Events[0].PreQueueAt = "2026-12-01T13:00:00+01:00" },
	} {
		c := noon()
		spoil(&c)
		if _, err := sale.Run(t.Context(), c); !errors.Is(err, sale.ErrConfig) && !errors.Is(err, zone.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
