package simulate_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/zone"
)

// noon is a draw at noon into which 1,100 come, 600 of whom enter a minute.
func noon() simulate.Config {
	z := zone.Defaults("TICKETS")
	z.PerMinute = 60
	z.Events = []event.Event{{
		Name: "noon", PreQueueAt: "2026-12-01T11:00:00+01:00", OpensAt: "2026-12-01T12:00:00+01:00",
		Order: event.OrderDraw, Settings: event.Values{"perMinute": "600"},
	}}
	return simulate.Config{Zone: z, Visitors: 1_100, Arrive: 3 * time.Minute, Leave: 0.2, Seed: 1}
}

func play(t *testing.T, c simulate.Config) simulate.EventReport {
	t.Helper()
	r, err := simulate.PlayEvent(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Admitted+r.Left+r.Refused+r.Swept != r.Visitors || r.Waits > 0 {
		t.Errorf("not everybody is accounted for: %+v", r)
	}
	if r.TooEarly > 0 || r.MaxInWindow > int(r.WindowLimit) || r.MaxInSecond > int(r.PerSecond) {
		t.Errorf("%d too early, %d of %d in a window, %d of %d in a second",
			r.TooEarly, r.MaxInWindow, r.WindowLimit, r.MaxInSecond, r.PerSecond)
	}
	return r
}

// TestEventOpens: it opens at its time, in the order of the draw or by arrival, and
// capacity is used from the first moment on.
func TestEventOpens(t *testing.T) {
	t.Parallel()
	for _, order := range []event.Order{event.OrderDraw, ""} {
		c := noon()
		c.Zone.Events[0].Order = order
		r := play(t, c)
		if r.Refused > 0 || r.Gathered != 1_100 || r.WindowLimit != 60 {
			t.Errorf("%q: %d refused, %d gathered, a window of %d", order, r.Refused, r.Gathered, r.WindowLimit)
		}
		if first, last := r.In[0], r.In[len(r.In)-1]; first.AtMs > 1_000 || last.N != r.Admitted || last.AtMs < int64(r.Admitted)*95 {
			t.Errorf("%q: the first in after %d ms, the last of %d after %d", order, first.AtMs, r.Admitted, last.AtMs)
		}
		if r.FirstWindows < 0.95 || r.OvertakenP99 > 0.5 {
			t.Errorf("%q: %.2f of the first two windows used, overtaken by %.2f windows' worth", order, r.FirstWindows, r.OvertakenP99)
		}
	}
	c := noon()
	c.Zone.Events[0].Order, c.Zone.Events[0].PreQueueAt = "", ""
	if r := play(t, c); r.Gathered > 0 || r.Admitted == 0 || r.In[0].AtMs > 1_000 {
		t.Errorf("nobody gathers: %+v", r)
	}
}

// TestEventWithACap: never more are inside than the event allows, and the slots of those who go are used.
func TestEventWithACap(t *testing.T) {
	t.Parallel()
	c := noon()
	c.Visitors, c.Stay, c.Done = 300, 30*time.Second, 1
	c.Zone.Events[0].Settings["maxInside"] = "40"
	if r := play(t, c); r.MaxInside != 40 || r.MostInside > 40 || r.InsideUsed < 0.9 {
		t.Errorf("%d of %d inside, %.2f of the cap used", r.MostInside, r.MaxInside, r.InsideUsed)
	}
}

// TestEventIsRepeatable: the same seed gives the same run, another another.
func TestEventIsRepeatable(t *testing.T) {
	t.Parallel()
	c := noon()
	c.Visitors = 300
	first, second := play(t, c), play(t, c)
	if !reflect.DeepEqual(first, second) {
		t.Errorf("two runs of one seed differ:\n%+v\n%+v", first, second)
	}
	c.Seed = 2
	if reflect.DeepEqual(first, play(t, c)) {
		t.Error("two seeds gave the same run")
	}
}

// TestEventIsChosen: by its name, or the first to open.
func TestEventIsChosen(t *testing.T) {
	t.Parallel()
	c := noon()
	c.Visitors = 50
	dawn := event.Event{Name: "dawn", PreQueueAt: "2026-12-01T06:00:00+01:00", OpensAt: "2026-12-01T07:00:00+01:00", EndsAt: "2026-12-01T08:00:00+01:00"}
	c.Zone.Events = append(c.Zone.Events, dawn)
	for name, want := range map[string]string{"": "dawn", "noon": "noon", "dawn": "dawn"} {
		c.Event = name
		if r := play(t, c); r.Event != want {
			t.Errorf("%q played %s", name, r.Event)
		}
	}
}

func TestEventConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*simulate.Config){
		"nobody comes":      func(c *simulate.Config) { c.Visitors = 0 },
		"too many come":     func(c *simulate.Config) { c.Visitors = 5_000_001 },
		"leave over 100 %":  func(c *simulate.Config) { c.Leave = 1.1 },
		"come in no time":   func(c *simulate.Config) { c.Arrive = 0 },
		"stay no time":      func(c *simulate.Config) { c.Zone.MaxInside = 40 },
		"no such event":     func(c *simulate.Config) { c.Event = "dusk" },
		"an event too late": func(c *simulate.Config) { c.Zone.Events[0].PreQueueAt = "2026-12-01T13:00:00+01:00" },
	} {
		c := noon()
		spoil(&c)
		if _, err := simulate.PlayEvent(t.Context(), c); !errors.Is(err, simulate.ErrConfig) && !errors.Is(err, zone.ErrInvalid) {
			t.Errorf("%q: got %v", name, err)
		}
	}
}
