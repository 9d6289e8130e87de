package history_test

import (
	"context"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/history"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/report"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/lua"
)

const (
	busyDays    = 30
	busyMinutes = busyDays * store.MinutesOfDay
)

// busy is a zone in which 600 a minute come and 540 enter, 20,000 or so wait, and every fourth minute somebody is refused. A server sees it once
// a minute.
func busy(from time.Time) []store.Minute {
	z := zone.Defaults("BUSY")
	z.PerMinute, z.MaxInside = 600, 5000
	stats := line.Stats{Waits: make([]int64, window.WaitBuckets)}
	refused := make(map[string]int64)
	return history.Rows("server-1", z, func(yield func(line.Stats, map[string]int64) bool) {
		for i := range int64(busyMinutes + 1) {
			more := line.Totals{Joined: 600 + i%7, Admitted: 540 + i%11, Left: 12, Swept: 48, Polls: 90_000, SetAside: 48, Returned: 9, Unused: 20}
			stats.Totals = stats.Totals.Plus(line.Totals{}, more)
			stats.State = line.State{NowMillis: from.UnixMilli() + i*time.Minute.Milliseconds() + 500, Waiting: 20_000 + i%5000, Inside: 4000 + i%1000}
			stats.Waits = slices.Clone(stats.Waits)
			stats.EstimateMillis = 2_200_000 + 1000*(i%600)
			for j := range 30 {
				stats.Waits[window.WaitBucket(1_800_000)+j/2] += more.Admitted / 30
			}
			if i%4 == 0 {
				refused["too_many_requests"] += 12 + i%90
				refused["line_full"] += 1 + i%7
			}
			if !yield(stats, maps.Clone(refused)) {
				return
			}
		}
	})
}

// BenchmarkDays shows what 30 days of a busy zone take in each store, and how long a report over them takes: to read
// them, and to make the page. No other limits are simulated.
func BenchmarkDays(b *testing.B) {
	b.Run("embedded", func(b *testing.B) {
		dir := b.TempDir()
		s, err := embedded.Open(embedded.Options{Dir: dir})
		parts.Must(b, err)
		b.Cleanup(func() { parts.Must(b, s.Close()) })
		days(b, s, func() (all int64) {
			files, err := filepath.Glob(filepath.Join(dir, "minutes=*"))
			parts.Must(b, err)
			for _, name := range files {
				info, err := os.Stat(name)
				parts.Must(b, err)
				all += info.Size()
			}
			return all
		})
	})
	b.Run("redis", func(b *testing.B) {
		r, err := process.NewRedis(b.Context(), "redis-server", b.TempDir())
		parts.Must(b, err)
		b.Cleanup(r.Kill)
		parts.Must(b, r.Start(context.Background()))
		s, err := lua.Open(b.Context(), lua.Options{URL: r.URL()})
		parts.Must(b, err)
		b.Cleanup(func() { parts.Must(b, s.Close()) })
		days(b, s, func() int64 {
			const script = "local n = 0; for _, key in ipairs(redis.call('KEYS', '*minutes*')) do n = n + redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) end; return n"
			said, err := exec.CommandContext(b.Context(), "redis-cli", "-p", strconv.Itoa(r.Port), "EVAL", script, "0").Output()
			parts.Must(b, err)
			n, err := strconv.ParseInt(strings.TrimSpace(string(said)), 10, 64)
			parts.Must(b, err)
			return n
		})
	})
}

// days keeps the minutes of a busy zone in a store, and reports on them.
func days(b *testing.B, s store.Historian, taken func() int64) {
	b.Helper()
	from := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -busyDays)
	rows := busy(from)
	longest := 0
	for day := range slices.Chunk(rows, store.MinutesOfDay) {
		parts.Must(b, s.KeepMinutes(b.Context(), "BUSY", (busyDays+1)*24*time.Hour, day))
		for _, m := range day {
			longest = max(longest, len(m.Row))
		}
	}
	var read, made time.Duration
	for b.Loop() {
		began := time.Now()
		minutes, err := history.Read(b.Context(), s, "BUSY", from, from.AddDate(0, 0, busyDays))
		parts.Must(b, err)
		read += time.Since(began)
		began = time.Now()
		r := report.Make(report.Source{ZoneID: "BUSY", From: from, To: from.AddDate(0, 0, busyDays), Now: time.Now(), Minutes: minutes})
		parts.Must(b, r.HTML(io.Discard, report.Reader{}))
		made += time.Since(began)
		if len(r.Minutes) != busyMinutes || r.WaitP50Millis == 0 {
			b.Fatalf("%d minutes, %+v", len(r.Minutes), r.Totals)
		}
	}
	each := func(d time.Duration) float64 { return float64(d.Milliseconds()) / float64(b.N) }
	b.ReportMetric(float64(taken()), "bytes")
	b.ReportMetric(float64(len(rows)), "rows")
	b.ReportMetric(float64(longest), "bytes/longest")
	b.ReportMetric(each(read), "read-ms")
	b.ReportMetric(each(made), "page-ms")
}
