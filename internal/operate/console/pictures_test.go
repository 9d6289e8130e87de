//go:build pictures

package console_test

import (
	"context"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sort"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

// pictured are the pages that docs/img shows.
var pictured = map[string]string{
	"zones": "", "zone": "zones/TICKETS-2026", "limits": "limits", "limit": "limits/orders-api",
	"event": "zones/SALE/schedule/noon", "event-open": "zones/PREMIERE/schedule/noon",
}

// TestPictures takes the pictures of docs/img, of a simulated crowd: 36,000
// arrive within 18 minutes, a quarter of whom leave. It is run by make pictures,
// and whoever runs it looks at them.
func TestPictures(t *testing.T) {
	r := newRoom(t)
	now := time.Now().Truncate(time.Second)
	r.at = now.Add(-47 * time.Minute)
	s := r.put("TICKETS-2026")
	for zoneID, set := range map[string]func(*zone.Settings){
		"BANK.transfers": func(s *zone.Settings) { s.PerMinute = 0 },
		"museum-tours":   func(s *zone.Settings) { s.Mode = zone.ModeClosed; s.PerMinute = 120 },
		"SHOP":           func(*zone.Settings) {},
	} {
		was := r.put(zoneID)
		is := was
		set(&is)
		if !is.Equal(was) {
			must(t, r.desk.Replace(t.Context(), was, is, "Bea Winter"))
		}
	}
	r.pass(9 * time.Minute)
	faster := s
	faster.PerMinute = 900
	must(t, r.desk.Replace(t.Context(), s, faster, "Bea Winter"))
	r.pass(24 * time.Minute)
	longer := faster
	longer.MaxWaiting = 50_000
	must(t, r.desk.Replace(t.Context(), faster, longer, "Anna"))

	crowd := film(t, simulate.Config{
		Visitors: 36_000, Arrive: 18 * time.Minute, Zone: longer, Leave: 0.25, Dark: 0.05, Seed: 7,
	}, now.Add(-26*time.Minute), now)
	others := map[string]watch.Sample{}
	for zoneID, waiting := range map[string]int64{"BANK.transfers": 1_204, "museum-tours": 318, "SHOP": 0} {
		is := r.zone(zoneID)
		others[zoneID] = watch.Sample{
			At: now.UnixMilli(), Store: watch.StoreOK, Waiting: waiting, Released: min(waiting, 30), PerMinute: is.PerMinute, Mode: is.Mode,
			InMinute: min(is.PerMinute, 118), InWindow: min(is.PerMinute, 118) / 10, WindowLimit: 60, EstimateMillis: waiting * 500, RateSeconds: 60,
			JoinsPerMinute: float64(waiting % 90), PollsPerSecond: float64(waiting) / 9, WaitP50Millis: 150_000, WaitCount: waiting,
		}
	}
	r.seen.round(others)
	r.seen.mu.Lock()
	r.seen.samples["TICKETS-2026"] = crowd
	r.seen.mu.Unlock()
	r.mu.Lock()
	r.at = now
	r.mu.Unlock()
	r.flood(now)
	r.sale(now)
	take(t, r)
	r.seen.stop()
}

// sale lists an event that opens in a minute, and one that opened four minutes ago with
// 24,310 drawn.
func (r *room) sale(now time.Time) {
	const drawn = 24_310
	r.drawn(drawn, "sale", whole)
	r.draws.draw.ZoneID = "PREMIERE"
	for zoneID, opens := range map[string]time.Time{"SALE": now.Add(59 * time.Second), "PREMIERE": now.Add(-4 * time.Minute)} {
		clock := func(at time.Time) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.at = at
		}
		text := func(d time.Duration) string { return opens.Add(d).Format(time.RFC3339) }
		clock(opens.Add(-time.Hour))
		r.list(zoneID, event.Event{
			Name: "noon", PreQueueAt: text(-30 * time.Minute), OpensAt: text(0), ClosesAt: text(2 * time.Hour), EndsAt: text(3 * time.Hour),
			Order: event.OrderDraw, Settings: event.Values{"perMinute": "2400"},
		})
		clock(opens.Add(-30 * time.Minute))
		r.makeDue(zoneID)
		clock(now)
		r.makeDue(zoneID)
		var all []watch.Sample
		for at := now.Add(-45 * time.Minute); !at.After(now); at = at.Add(time.Second) {
			s := watch.Sample{At: at.UnixMilli(), Store: watch.StoreOK, Mode: zone.ModeQueue, WindowLimit: 240, PerMinute: 2_400, RateSeconds: 60, EstimateMillis: 600_000}
			minutes := opens.Sub(at).Minutes()
			if minutes < 30 {
				s.Waiting = int64(drawn * math.Exp(-max(0, minutes)/9) * (1 - math.Exp(minutes-30)))
				s.JoinsPerMinute, s.PollsPerSecond = math.Round(float64(s.Waiting)/9), float64(s.Waiting)/(15+math.Sin(minutes*3))
			}
			if minutes <= 0 {
				s.Waiting = drawn + int64(minutes*2_400)
				s.InWindow, s.InMinute, s.Use = 240, min(2_400, int64(-minutes*2_400)), 1
				s.PollsPerSecond, s.JoinsPerMinute = float64(s.Waiting)/9.5, 40
			}
			all = append(all, s)
		}
		r.seen.mu.Lock()
		r.seen.samples[zoneID] = all
		r.seen.mu.Unlock()
	}
}

// flood makes policies, of which one is flooded for a quarter of an hour.
func (r *room) flood(now time.Time) {
	orders := api()
	orders.Name = "orders-api"
	r.putPolicy(orders, "config")
	for _, p := range guard.Policies() {
		r.putPolicy(p, "config")
		r.decided.set(p.Name, limiter.Stats{
			RecentSeconds: 60, Tiers: []limiter.TierStats{{Tier: limit.DefaultTier, Recent: limiter.Counts{limiter.Allowed: 412}}},
		})
	}
	slower := orders.Clone()
	slower.Rules[0].Limit = 60
	r.putPolicy(slower, "Bea Winter")
	seen := busyLimit(now)
	var hour limiter.Counts
	seen.History = nil
	for i := range limiter.HistorySeconds {
		wave := uint32(120 + 30*math.Sin(float64(i)/500) + 8*math.Sin(float64(i)/37) + 4*math.Sin(float64(i)*1.7))
		s := limiter.Second{At: now.Unix() - limiter.HistorySeconds + 1 + int64(i), Allowed: wave, Refused: wave / 40}
		if i > 2500 {
			s.FromMemory = 3 * wave
			s.Refused += s.FromMemory
		}
		s.FromMemory += (s.Refused - s.FromMemory) / 2
		seen.History = append(seen.History, s)
		hour[limiter.Allowed] += uint64(s.Allowed)
		hour[limiter.Refused] += uint64(s.Refused - s.FromMemory)
		hour[limiter.RefusedFromMemory] += uint64(s.FromMemory)
	}
	seen.Hour = hour
	recent := limiter.Counts{limiter.Allowed: 7_120, limiter.Refused: 133, limiter.RefusedFromMemory: 6_420}
	total := hour
	total[limiter.Allowed] += 2_310_022
	seen.Tiers[0].Recent, seen.Tiers[0].Total = recent, total
	seen.Tiers[1].Recent, seen.Tiers[1].Total = limiter.Counts{limiter.Allowed: 310}, limiter.Counts{limiter.Allowed: 18_344}
	seen.HeavyHitters = nil
	for i, key := range []string{"mC0Xq2vB", "9u_LkTzE", "Hn3-aaPw", "r7YdQf1s", "Vb8eJxK2", "oP5tZ_cM"} {
		seen.HeavyHitters = append(seen.HeavyHitters, limiter.HeavyHitter{Key: key, Refused: int64(7_900 >> (2 * i))})
	}
	r.decided.set(orders.Name, seen)
}

// film is what a simulated crowd shows of a zone, second by second, up to now.
func film(t *testing.T, c simulate.Config, from, now time.Time) []watch.Sample {
	t.Helper()
	var all []watch.Sample
	var joined, gone []int
	c.Progress = func(m simulate.Moment) {
		at := from.Add(m.At)
		if at.After(now) {
			return
		}
		joined, gone = append(joined, m.Present+m.Admitted+m.Left), append(gone, m.Admitted+m.Left)
		i := len(joined) - 1
		before := max(0, i-60)
		// Who is admitted now came when so many had come as now have gone.
		waited := int64(i-sort.SearchInts(joined, gone[i])) * 1000
		use := float64(m.State.InWindow) / float64(max(1, m.State.WindowLimit))
		all = append(all, watch.Sample{
			At: at.UnixMilli(), Store: watch.StoreOK, Waiting: m.State.Waiting, Released: m.State.Released, Overdue: m.State.Released - m.State.Live,
			InWindow: m.State.InWindow, WindowLimit: m.State.WindowLimit, InMinute: min(c.Zone.PerMinute, m.State.InWindow*10), PerMinute: c.Zone.PerMinute,
			Mode: zone.ModeQueue, Use: use, RateSeconds: 60, JoinsPerMinute: float64(joined[i] - joined[before]),
			SweptPerMinute: float64(gone[i]-gone[before]) / 5, PollsPerSecond: float64(m.Present) / 8.5,
			WaitP50Millis: waited, WaitP95Millis: waited + 9_000, WaitCount: m.State.InWindow * 10,
			EstimateMillis: m.EstimateMillis, EstimateError: 0.05, EstimateCoverage: 0.81, EstimateErrorCount: 956,
		})
	}
	if _, err := simulate.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return all
}

// take photographs the pages in each width and in light and dark.
func take(t *testing.T, r *room) {
	t.Helper()
	server := httptest.NewServer(r.http)
	defer server.Close()
	defer server.CloseClientConnections()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath("chromium"))
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	defer end()
	ctx, cancel := chromedp.NewContext(allocator)
	defer cancel()
	must(t, chromedp.Do(ctx, chromedp.Navigate(server.URL+"/"),
		chromedp.SendKeys(chromedp.CSS("#who"), "Anna"), chromedp.SendKeys(chromedp.CSS("#token"), token),
		chromedp.Click(chromedp.CSS("button.main")), chromedp.WaitVisible(chromedp.CSS("#zones"))))
	for name, path := range pictured {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 390} {
				must(t, chromedp.Do(ctx, chromedp.EmulateViewport(width, 800)))
				_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
				})
				must(t, err)
				must(t, chromedp.Do(ctx, chromedp.Navigate(server.URL+"/console/"+path),
					chromedp.WaitVisible(chromedp.CSS(`[data-live-state=live]`)), chromedp.Sleep(time.Second)))
				picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
				must(t, err)
				file := fmt.Sprintf("console-%s-%s-%d.png", name, scheme, width)
				must(t, os.WriteFile(filepath.Join("..", "..", "..", "docs", "img", file), picture, 0o644))
			}
		}
	}
}
