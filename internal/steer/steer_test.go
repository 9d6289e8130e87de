package steer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pilot"
	"github.com/openqueue/waitingroom/internal/steer"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// room is a server whose autopilot steers zone Z, before a site.
type room struct {
	*parts.Clock
	tb    testing.TB
	store *parts.Store
	zones *zones.Zones
	steer *steer.Steer
	steps []string
	away  time.Duration
	// ask is how many of those inside ask for a page each second.
	ask int
}

// PilotStep implements steer.Meter.
func (r *room) PilotStep(_, why string) { r.steps = append(r.steps, why) }

// PilotSignal implements steer.Meter.
func (r *room) PilotSignal(_ string, away time.Duration) { r.away = away }

// newRoom has 100 visitors inside.
func newRoom(tb testing.TB, set func(*zone.Settings)) *room {
	tb.Helper()
	r := &room{Clock: parts.NewClock(), tb: tb, ask: 100}
	r.store = parts.OpenStore(tb, r.Now, nil)
	r.zones = zones.New(zones.Options{Store: r.store, Now: r.Now})
	tb.Cleanup(r.zones.Stop)
	r.steer = r.another()
	z := zone.Defaults("Z")
	z.PerMinute, z.PassTTLSeconds, z.Pilot, z.PilotMin, z.PilotMax, z.PilotP95Millis = 60_000, 300, zone.PilotSteer, 10, 1_000, 200
	set(&z)
	_, err := r.zones.PutZone(tb.Context(), z, nil, audit.By{Name: "anna"})
	parts.Must(tb, err)
	is, err := r.zones.Find(tb.Context(), "Z")
	parts.Must(tb, err)
	for i := range 100 {
		_, err := is.Join(tb.Context(), line.ID{byte(i + 1)})
		parts.Must(tb, err)
	}
	return r
}

// another returns the autopilot of another server of the same store.
func (r *room) another() *steer.Steer {
	return steer.New(steer.Options{Zones: r.zones, Keep: time.Hour, Meter: r})
}

// passes lets seconds pass, in each of which r.ask visitors inside get an answer that begins after that time; 0: none gets one.
func (r *room) passes(seconds int, first time.Duration) {
	r.tb.Helper()
	for range seconds {
		r.Forward(time.Second)
		_, _ = r.zones.Observe(r.tb.Context(), "Z") // as the watch does; an error is a store that is away
		for i := range r.ask {
			if first > 0 {
				r.steer.Saw("Z", [16]byte{byte(i)}, first, false)
			}
		}
		r.steer.RunOnce(r.tb.Context())
	}
}

func (r *room) is() zone.Settings {
	r.tb.Helper()
	is, err := r.zones.Zone(r.tb.Context(), "Z")
	parts.Must(r.tb, err)
	return is
}

func (r *room) view() steer.View {
	r.tb.Helper()
	v, err := r.steer.View(r.tb.Context(), r.is())
	parts.Must(r.tb, err)
	return v
}

// wants compares the cap, the state and the steps.
func (r *room) wants(when string, maxInside int64, state steer.State, steps ...string) {
	r.tb.Helper()
	v := r.view()
	if v.MaxInside != maxInside || v.State != state || !slices.Equal(r.steps, steps) {
		r.tb.Fatalf("%s: maxInside %d, %s, steps %v; want %d, %s, %v", when, v.MaxInside, v.State, r.steps, maxInside, state, steps)
	}
}

// put has an operator change the zone.
func (r *room) put(change func(*zone.Settings)) {
	r.tb.Helper()
	was := r.is()
	now := was
	change(&now)
	_, err := r.zones.PutZone(r.tb.Context(), now, &was, audit.By{Name: "anna"})
	parts.Must(r.tb, err)
}

func TestSteers(t *testing.T) {
	t.Parallel()
	r := newRoom(t, func(*zone.Settings) {})
	r.passes(25, 50*time.Millisecond)
	r.wants("no cap at first", 1_000, steer.StateOn, "bounds")
	r.passes(40, 500*time.Millisecond)
	r.wants("slow", 70, steer.StateOn, "bounds", "slow")
	r.passes(60, 500*time.Millisecond)
	r.wants("100 inside of 70", 70, steer.StateOn, "bounds", "slow")
	v := r.view()
	changes, err := r.zones.Changes(t.Context(), "Z")
	parts.Must(t, err)
	if len(v.Steps) != 2 || v.Steps[0].String() != r.is().PilotState.String() || v.Steps[0].P95Millis < 450 {
		t.Errorf("the steps are %v", v.Steps)
	}
	if len(changes) != 1 || changes[0].Name != "anna" {
		t.Errorf("the record has %d entries", len(changes))
	}
	r.passes(160, 50*time.Millisecond)
	r.wants("healthy", 84, steer.StateOn, "bounds", "slow", "room", "room")

	r.put(func(s *zone.Settings) { s.PerMinute = 50_000 })
	r.passes(595, 50*time.Millisecond)
	r.wants("a change of the limit", 84, steer.StateHeld, "bounds", "slow", "room", "room")
	if at := r.view().HeldUntil; at < r.Now().UnixMilli() || at > r.Now().Add(10*time.Second).UnixMilli() {
		t.Errorf("held until %v", time.UnixMilli(at))
	}
	r.steer = r.another() // a restart: the record says who changed what
	r.passes(3, 50*time.Millisecond)
	r.passes(90, 50*time.Millisecond)
	r.wants("after ten minutes", 90, steer.StateOn, "bounds", "slow", "room", "room", "room")
	r.put(func(s *zone.Settings) { s.MaxInside = 91 })
	r.passes(12, 50*time.Millisecond)
	if v := r.view(); v.State != steer.StateHeld {
		t.Errorf("after a change of the cap: %s", v.State)
	}
	r.put(func(s *zone.Settings) { s.PilotMin = 95 })
	r.passes(12, 50*time.Millisecond)
	if v := r.view(); v.State != steer.StateOn || v.MaxInside != 95 {
		t.Errorf("with another bound: %s, %d", v.State, v.MaxInside)
	}
	// A step of another server, and a change of the cap by somebody else, within one second.
	r.put(func(s *zone.Settings) {
		s.MaxInside, s.PilotState.AtMillis, s.PilotState.To = 100, r.Now().UnixMilli(), 100
	})
	r.put(func(s *zone.Settings) { s.MaxInside = 96 })
	r.passes(12, 50*time.Millisecond)
	if v := r.view(); v.State != steer.StateHeld {
		t.Errorf("after a step and a change of the cap: %s", v.State)
	}
	r.put(func(s *zone.Settings) { s.PerMinute = 0 })
	r.passes(40, 500*time.Millisecond)
	if v := r.view(); v.State != steer.StatePaused || v.MaxInside != 96 {
		t.Errorf("in a pause: %s, %d", v.State, v.MaxInside)
	}
}

// TestTwoServers: both see a breach in the same slots, and one step is made.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	r := newRoom(t, func(s *zone.Settings) { s.MaxInside = 100 })
	other := r.another()
	for range 45 {
		for i := range 100 {
			other.Saw("Z", [16]byte{byte(i)}, time.Second, false)
		}
		r.passes(1, time.Second)
		other.RunOnce(t.Context())
	}
	r.wants("two servers", 70, steer.StateOn, "slow")
}

// TestSlowSource: a zone whose source does not answer delays the looks at no other.
func TestSlowSource(t *testing.T) {
	t.Parallel()
	r := newRoom(t, func(*zone.Settings) {})
	other := r.is()
	other.ZoneID = "SLOW"
	_, err := r.zones.PutZone(t.Context(), other, nil, audit.By{Name: "anna"})
	parts.Must(t, err)
	asked, end := make(chan string, 100), make(chan struct{})
	r.steer = steer.New(steer.Options{Zones: r.zones, Keep: time.Hour, Meter: r, Source: func(_ context.Context, zoneID string) (pilot.Look, error) {
		asked <- zoneID
		if zoneID == "SLOW" {
			<-end
		}
		return pilot.Look{Told: true}, nil
	}})
	forward := func() {
		r.Forward(pilot.Every)
		for _, zoneID := range []string{"Z", "SLOW"} {
			_, err := r.zones.Observe(t.Context(), zoneID)
			parts.Must(t, err)
		}
	}
	forward()
	r.steer.RunOnce(t.Context()) // it has not seen a whole slot yet
	seen := map[string]int{}
	for slots := range 3 {
		for forward(); seen["Z"] <= slots; {
			r.steer.Begin(t.Context())
			select {
			case zoneID := <-asked:
				seen[zoneID]++
			case <-time.After(time.Millisecond): // the look before has not ended
			}
		}
	}
	close(end)
	r.steer.Stop()
	if seen["SLOW"] > 1 {
		t.Errorf("the slow one was asked %d times at once", seen["SLOW"])
	}
}

// TestTwoServersAdvise: of the same advice one is kept.
func TestTwoServersAdvise(t *testing.T) {
	t.Parallel()
	r := newRoom(t, func(s *zone.Settings) { s.Pilot, s.MaxInside = zone.PilotAdvise, 2_000 })
	other := r.another()
	for range 45 {
		r.passes(1, time.Second)
		r.Forward(time.Millisecond)
		other.RunOnce(t.Context())
	}
	if v := r.view(); len(v.Steps) != 1 {
		t.Errorf("%v", v.Steps)
	}
}

// TestAway: without a signal, and without a store, nothing is changed, and that is said.
func TestAway(t *testing.T) {
	t.Parallel()
	r := newRoom(t, func(s *zone.Settings) { s.MaxInside = 100 })
	r.passes(25, 50*time.Millisecond)
	r.wants("at first", 100, steer.StateOn)
	r.passes(45, 0)
	r.wants("no answers", 100, steer.StateNoSignal)
	if r.away < 30*time.Second || r.away > time.Minute {
		t.Errorf("the signal is away for %v", r.away)
	}
	r.store.Fail(fmt.Errorf("gone: %w", line.ErrStoreUnavailable))
	r.passes(90, time.Second)
	r.wants("the store is away", 100, steer.StateStore)
	r.store.Fail(nil)
	r.passes(45, time.Second)
	r.wants("the store is back", 70, steer.StateOn, "slow")
}

// TestFewAnswers: a look goes on until it has enough answers, so that a site with few visitors is steered, too.
func TestFewAnswers(t *testing.T) {
	t.Parallel()
	r := newRoom(t, func(s *zone.Settings) { s.MaxInside = 100 })
	r.ask = 2
	r.passes(100, 500*time.Millisecond)
	r.wants("slow", 70, steer.StateOn, "slow")
	r.passes(110, 50*time.Millisecond)
	r.wants("healthy", 77, steer.StateOn, "slow", "room")
}

// TestAdvises: it says what it would have set, and on what.
func TestAdvises(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		maxInside int64
		say       string
	}{{100, "would have set maxInside from 100 to 70"}, {0, "would have set perMinute from 60,000 to 1,000"}} {
		r := newRoom(t, func(s *zone.Settings) { s.Pilot, s.MaxInside = zone.PilotAdvise, tt.maxInside })
		was := r.is()
		r.passes(90, time.Second)
		v := r.view()
		if !r.is().Equal(was) || len(v.Steps) != 1 || !strings.HasPrefix(v.Steps[0].String(), tt.say) {
			t.Errorf("with a cap of %d: %v", tt.maxInside, v.Steps)
		}
	}
}

func TestFromURL(t *testing.T) {
	t.Parallel()
	says := map[string]string{
		"/GOOD": `{"p95Millis": 180, "errorPercent": 0.4}`, "/HALF": `{"p95Millis": 180}`, "/NONE": "no JSON", "/PERCENT": `{"p95Millis": 1, "errorPercent": 101}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/AWAY" {
			http.Redirect(w, r, "/GOOD", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte(says[r.URL.Path]))
	}))
	t.Cleanup(server.Close)
	from := steer.FromURL(server.URL + "/{zone}")
	l, err := from(t.Context(), "GOOD")
	if seen, ok := l.Seen(); err != nil || !ok || seen.P95Millis != 180 || seen.ErrorPercent != 0.4 {
		t.Errorf("%+v, %v", l, err)
	}
	for _, zoneID := range []string{"HALF", "NONE", "PERCENT", "AWAY"} {
		if l, err := from(t.Context(), zoneID); err == nil {
			t.Errorf("%s: %+v", zoneID, l)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := from(ctx, "GOOD"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, bad := range []string{"", "127.0.0.1:99", "ftp://a/b", "http:///x"} {
		if steer.CheckURL(bad) == nil {
			t.Errorf("%q is a URL", bad)
		}
	}
}
