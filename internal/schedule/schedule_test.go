package schedule

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

const zoneID = "Z"

// server is one of two that share a store, each on a way of its own.
type server struct {
	*Schedule
	way *way
}

// way is a server's way to the store.
type way struct {
	*embedded.Store
	// observed counts the looks at a zone.
	observed int
	// draws, when not nil, is a store of draws beside.
	draws *embedded.Store
	// beforeList is called before a list is written, and read instead of a read of the line, each if not nil.
	beforeList func()
	read       func(ctx context.Context, drawn func() ([]line.Place, error)) ([]line.Place, error)
}

func (w *way) Observe(ctx context.Context, zoneID string, most int) (line.Observation, error) {
	w.observed++
	return w.Store.Observe(ctx, zoneID, most)
}

func (w *way) Drawn(ctx context.Context, zoneID string, after line.Place, fromMicros, uptoMicros int64) ([]line.Place, error) {
	drawn := func() ([]line.Place, error) { return w.Store.Drawn(ctx, zoneID, after, fromMicros, uptoMicros) }
	if w.read != nil {
		return w.read(ctx, drawn)
	}
	return drawn()
}

func (w *way) KeepDraw(ctx context.Context, zoneID, nonce string, list []byte) (bool, error) {
	if w.beforeList != nil {
		w.beforeList()
	}
	return cmp.Or(w.draws, w.Store).KeepDraw(ctx, zoneID, nonce, list)
}

func (w *way) Draw(ctx context.Context, zoneID, nonce string) ([]byte, error) {
	return cmp.Or(w.draws, w.Store).Draw(ctx, zoneID, nonce)
}

// room is a zone with an event, on a store with a clock of its own.
type room struct {
	*parts.Clock
	t       *testing.T
	store   *embedded.Store
	servers []server
	places  map[string]line.Place
}

func newRoom(t *testing.T, e event.Event, gathers, opens time.Duration) *room {
	t.Helper()
	r := &room{Clock: parts.NewClock(), t: t, places: make(map[string]line.Place)}
	r.store = parts.OpenStore(t, r.Now, nil).Store
	keys, err := token.NewKeys([]byte(strings.Repeat("k", token.MinSecretBytes)))
	parts.Must(t, err)
	e.Name = "noon"
	e.PreQueueAt, e.OpensAt = r.Now().Add(gathers).Format(time.RFC3339), r.Now().Add(opens).Format(time.RFC3339)
	z := zone.Defaults(zoneID)
	z.PerMinute, z.Events = 60, []event.Event{e}
	if _, err := r.store.PutZone(t.Context(), z, nil, audit.By{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.serve(keys, r.Now)
	}
	return r
}

// serve begins one more server, whose clock shows this.
func (r *room) serve(keys *token.Keys, now func() time.Time) {
	w := &way{Store: r.store}
	known := zones.New(zones.Options{Store: w, DrawSeeds: keys, Now: now})
	known.RunOnce(r.t.Context())
	r.t.Cleanup(known.Stop)
	r.servers = append(r.servers, server{New(Options{Zones: known, Seeds: keys}), w})
}

// pass lets time go on, with both servers at work.
func (r *room) pass(d time.Duration) {
	for end := r.Now().Add(d); ; {
		for _, s := range r.servers {
			s.RunOnce(r.t.Context())
		}
		if !r.Now().Before(end) {
			return
		}
		r.Forward(min(500*time.Millisecond, end.Sub(r.Now())))
	}
}

func (r *room) join(n int) {
	r.t.Helper()
	for i := range n {
		name := fmt.Sprintf("v%d", i)
		var id line.ID
		copy(id[:], name)
		a, err := r.servers[i%2].Zones.Known(zoneID).Join(r.t.Context(), id)
		if err != nil || a.Status != line.Waiting || a.Position != 0 {
			r.t.Fatalf("%s: %+v, %v", name, a, err)
		}
		r.places[name] = a.Place
	}
}

// TestDrawIsAsItsListSays: two servers, one of which has not heard that people gather. What
// anybody can read proves the order in which people stand, and says nothing too early.
func TestDrawIsAsItsListSays(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := newRoom(t, event.Event{Order: event.OrderDraw, Settings: event.Values{"perMinute": "120"}}, 10*time.Second, 2*time.Minute)
	r.pass(time.Second)
	earlier, err := r.servers[0].Draw(ctx, zoneID, "noon")
	if d := earlier; err != nil || d.Commitment == "" || d.Seed != "" || d.ListHash != "" {
		t.Fatalf("before people gather: %+v, %v", earlier, err)
	}
	r.pass(9 * time.Second)
	r.join(40)
	r.pass(78 * time.Second) // 2 s before the draw closes
	if _, _, err := r.servers[1].List(ctx, zoneID, "noon"); !errors.Is(err, ErrNoDraw) {
		t.Errorf("a list before the draw has closed: %v", err)
	}
	r.pass(4 * time.Second)
	d, list, err := r.servers[1].List(ctx, zoneID, "noon")
	tickets, fault := ReadTickets(list)
	if err != nil || fault != nil || len(tickets) != 40 || d.ListHash == "" {
		t.Fatalf("%+v, %v, %v", d, err, fault)
	}
	for name, place := range r.places {
		a, err := r.servers[0].Zones.Known(zoneID).Poll(ctx, place)
		number := slices.Index(tickets, event.TicketOf(zoneID, "noon", place.ID)) + 1
		if err != nil || a.Position != int64(number) {
			t.Errorf("%s stands at %d, the list says %d: %v", name, a.Position, number, err)
		}
	}
	if d, err = r.servers[0].Draw(ctx, zoneID, "noon"); err != nil || d.Seed != "" {
		t.Errorf("before the opening: %+v, %v", d, err)
	}
	r.pass(29 * time.Second)
	if d, err = r.servers[1].Draw(ctx, zoneID, "noon"); err != nil || d.Seed == "" || d.Tickets != 40 {
		t.Fatalf("after the opening: %+v, %v", d, err)
	}
	if fault := d.Fault(list, &earlier); fault != "" {
		t.Error(fault)
	}
	z, err := r.store.Zone(ctx, zoneID)
	if err != nil || z.PerMinute != 120 || z.EventState.Now.Phase != event.PhaseOpen {
		t.Errorf("%+v, %v", z, err)
	}
}

// TestStepsAreMadeOnce: whoever makes them, and by a server that starts late, too.
func TestStepsAreMadeOnce(t *testing.T) {
	t.Parallel()
	r := newRoom(t, event.Event{Settings: event.Values{"perMinute": "120"}}, 10*time.Second, 2*time.Minute)
	r.pass(time.Second)
	r.Forward(time.Hour) // nobody is there at noon
	r.pass(2 * time.Second)
	changes, err := r.store.Changes(t.Context(), zoneID)
	parts.Must(t, err)
	var said []string
	for _, c := range changes {
		phase := event.Phase("none")
		if p := c.Now.EventState.Now; p != nil {
			phase = p.Phase
		}
		said = append(said, fmt.Sprintf("%s %s", c.Name, phase))
	}
	want := "event noon open, event noon gathering, event noon announced, test none"
	if got := strings.Join(said, ", "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestSeedIsNowhere: in nothing that is kept, recorded or told before the opening.
func TestSeedIsNowhere(t *testing.T) {
	t.Parallel()
	r := newRoom(t, event.Event{Order: event.OrderDraw}, 10*time.Second, 2*time.Minute)
	r.pass(20 * time.Second)
	z, err := r.store.Zone(t.Context(), zoneID)
	parts.Must(t, err)
	seed, known := r.servers[0].Seeds.Seed(zoneID, *z.EventState.Draw())
	if !known {
		t.Fatal("the servers do not know the seed")
	}
	kept, err := z.MarshalJSON()
	parts.Must(t, err)
	if secret := hex.EncodeToString(seed[:]); strings.Contains(string(kept)+z.String(), secret) {
		t.Error("the settings have the seed")
	}
	if _, err := r.servers[0].Draw(context.Background(), zoneID, "other"); !errors.Is(err, ErrNoDraw) {
		t.Errorf("the draw of no event: %v", err)
	}
}

// TestStoreIsAskedWhenAStepIsDue: not before, while the zone's clock is known from other answers.
func TestStoreIsAskedWhenAStepIsDue(t *testing.T) {
	t.Parallel()
	r := newRoom(t, event.Event{Order: event.OrderDraw}, 10*time.Second, 2*time.Minute)
	r.pass(time.Second)
	r.servers = r.servers[:1]
	only := r.servers[0]
	const looks = 7
	only.way.observed = 0
	for range looks {
		if _, err := only.Zones.Stats(t.Context(), zoneID); err != nil { // as the watch does
			t.Fatal(err)
		}
		only.Zones.RunOnce(t.Context())
		r.pass(time.Second)
	}
	if only.way.observed != looks {
		t.Errorf("asked %d times before a step was due", only.way.observed-looks)
	}
	r.pass(2 * time.Second)
	if z, err := r.store.Zone(t.Context(), zoneID); err != nil || only.way.observed == looks || z.EventState.Now.Phase != event.PhaseGathering {
		t.Errorf("asked %d times when it was: %+v, %v", only.way.observed-looks, z.EventState, err)
	}
}
