package zones_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// unlimited refuses nobody.
var unlimited = guard.New(guard.Options{Limiter: guard.Unlimited{}})

// told is what one visitor knows.
type told struct {
	place    line.Place
	position int64
	// until is when the visitor may come again, last when it came.
	until, last time.Time
	// admitted is when it was admitted, expires until when; Unix milliseconds.
	admitted, expires int64
	left              bool
}

// TestEarlyAnswersAreTrue: whenever visitors poll, join again, leave, and whatever
// an operator changes, no position rises, nobody loses a place, an admission stays
// the same, who has left is not in, and no poll in time is answered from memory.
func TestEarlyAnswersAreTrue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clock := parts.NewClock()
		lines, err := embedded.Open(embedded.Options{Now: clock.Now})
		must(t, err)
		defer func() { must(t, lines.Close()) }()
		settings := zone.Defaults(zoneID)
		settings.PerMinute = 10
		_, err = lines.PutZone(t.Context(), settings, nil, audit.By{})
		must(t, err)
		zones := zones.New(zones.Options{Store: lines, AnswerEarly: true, Guard: unlimited, Now: clock.Now})
		zones.RunOnce(t.Context())
		defer zones.Stop()
		z, err := zones.Find(t.Context(), zoneID)
		must(t, err)
		visitors := make([]*told, 8)
		for range rapid.IntRange(20, 200).Draw(t, "steps") {
			clock.Forward(time.Duration(rapid.SampledFrom([]int{0, 1, 50, 250, 999, 1000, 3000, 9000}).Draw(t, "ms")) * time.Millisecond)
			n := rapid.IntRange(0, len(visitors)-1).Draw(t, "visitor")
			v := visitors[n]
			switch rapid.SampledFrom([]string{"poll", "poll", "poll", "poll", "poll", "join", "join", "leave", "change", "sweep"}).Draw(t, "step") {
			case "join":
				a, err := z.Join(t.Context(), line.ID{byte(n), 7})
				must(t, err)
				if v == nil || v.left || v.expires > 0 && clock.Now().UnixMilli() >= v.expires ||
					a.Place.ArrivedAtMicros != v.place.ArrivedAtMicros && v.admitted == 0 {
					v = &told{place: a.Place, position: a.Position}
					visitors[n] = v
				}
				v.position = math.MaxInt64 // a join does not say which position was told last
				v.hears(t, clock.Now(), a)
			case "poll":
				if v == nil {
					continue
				}
				a, err := z.Poll(t.Context(), v.place)
				must(t, err)
				if a.Early && a.Status == line.Waiting && !clock.Now().Before(v.until) {
					t.Fatalf("in time, and answered from memory: %+v", a)
				}
				v.hears(t, clock.Now(), a)
			case "leave":
				if v != nil && v.admitted == 0 {
					must(t, z.Leave(t.Context(), v.place))
					v.left = true
				}
			case "change":
				changed := settings
				changed.PerMinute = rapid.SampledFrom([]int64{0, 10, 10, 100}).Draw(t, "per minute")
				_, err := lines.PutZone(t.Context(), changed, &settings, audit.By{})
				must(t, err)
				settings = changed
				zones.RunOnce(t.Context())
			case "sweep":
				for cursor := uint64(0); ; {
					out, err := lines.Sweep(t.Context(), zoneID, "", cursor)
					must(t, err)
					if cursor = out.Next; cursor == 0 {
						break
					}
				}
			}
		}
	})
}

func (v *told) hears(t *rapid.T, now time.Time, a line.Told) {
	silent := now.Sub(v.last)
	v.last = now
	switch a.Status {
	case line.Waiting:
		if v.left || v.admitted > 0 {
			t.Fatalf("left %v or admitted %d, and waits: %+v", v.left, v.admitted, a)
		}
		if a.Position > v.position || a.Position < 1 || a.State.Waiting < a.Position || a.EstimateMillis < 0 || a.PeriodMillis < 1 {
			t.Fatalf("after position %d: %+v", v.position, a)
		}
		v.position, v.place = a.Position, a.Place // the token that it shows next
		v.until = now.Add(time.Duration(a.PeriodMillis) * time.Millisecond)
	case line.Admitted, line.AdmittedBefore:
		if v.left || v.admitted > 0 && v.admitted != a.AdmittedAtMillis {
			t.Fatalf("left %v or admitted at %d before: %+v", v.left, v.admitted, a)
		}
		v.admitted, v.expires = a.AdmittedAtMillis, a.ExpiresAtMillis
	case line.Gone:
		if !v.left && v.admitted == 0 && silent <= (zone.DefaultIdleTimeoutSeconds+zone.DefaultKeepPlaceSeconds)*time.Second {
			t.Fatalf("silent for %v, and gone: %+v", silent, a)
		}
		v.left = true // swept: it may join again
	default:
		t.Fatalf("%+v", a)
	}
}

func must(t interface{ Fatal(...any) }, err error) {
	if err != nil && !errors.Is(err, line.ErrZoneUnknown) {
		t.Fatal(err)
	}
}
