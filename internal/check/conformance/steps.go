package conformance

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Stepped has the clock of a zone set forward and back while people wait, and fails if more are admitted within a window or
// a minute of true time than may be. Servers are those that share the store; advance moves the true time on, and the
// clock by as much and by what it is set forward.
func Stepped(t *testing.T, servers []store.Store, advance func(by, set time.Duration)) {
	t.Helper()
	z := zone.Defaults("Z")
	z.PerMinute, z.MaxPerSecond = 100, zone.PerSecondNone
	if _, err := servers[0].PutZone(t.Context(), z, nil, audit.By{}); err != nil {
		t.Fatal(err)
	}
	const visitors, step = 400, 500 * time.Millisecond
	var places []line.Place
	var entered []time.Duration // when, in true time
	var now time.Duration
	visit := func(a line.Answer, err error) {
		switch {
		case err != nil:
			t.Fatal(err)
		case a.Status == line.Waiting:
			places = append(places, a.Place)
		case a.Status == line.Admitted:
			entered = append(entered, now)
		default:
			t.Errorf("status %d", a.Status)
		}
	}
	for i := range visitors {
		visit(servers[i%len(servers)].Join(t.Context(), "Z", line.ID{byte(i >> 8), byte(i), 1}))
	}
	sets := map[time.Duration]time.Duration{
		2 * time.Second: 5 * time.Second, 25 * time.Second: 70 * time.Second, // as an issue has it
		90 * time.Second: -70 * time.Second, 91 * time.Second: 70 * time.Second, 140 * time.Second: time.Hour,
	}
	for now = step; now < 3*time.Minute; now += step {
		advance(step, sets[now])
		waiting := places[:min(40, len(places))]
		places = append([]line.Place(nil), places[len(waiting):]...)
		kept := places
		places = nil
		for i, p := range waiting {
			visit(servers[(i+int(now/step))%len(servers)].Poll(t.Context(), "Z", p))
		}
		places = append(places, kept...)
	}
	for i, at := range entered {
		for most, span := range map[int]time.Duration{10: 6 * time.Second, 100: time.Minute} {
			if i >= most && at-entered[i-most] <= span {
				t.Errorf("more than %d entered in the %v before %v", most, span, at)
			}
		}
	}
	if len(entered) < 200 {
		t.Errorf("%d entered in three minutes of 100", len(entered))
	}
}
