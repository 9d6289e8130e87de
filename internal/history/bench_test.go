package history

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/lua"
)

// BenchmarkThirtyDays reads 30 days of a busy zone, of which each minute has a row, and reports how many bytes they take in Redis.
func BenchmarkThirtyDays(b *testing.B) {
	const days = 30
	since := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	first := since.Unix() / 60
	var rows []store.Minute
	size := 0
	r := row{waiting: 90_000, inside: 12_000, perMinute: 600, maxInside: 15_000, mode: zone.ModeQueue, estimateMillis: 9_000_000, waits: &Waits{}}
	for i := range r.waits {
		r.waits[i] = byte(100 + i)
	}
	for i := range int64(days * store.MinutesOfDay) {
		for _, n := range []*int64{&r.totals.Joined, &r.totals.Admitted, &r.totals.Left, &r.totals.Swept, &r.totals.SetAside, &r.totals.Returned} {
			*n += 580 + i%40
		}
		rows = append(rows, store.Minute{Minute: first + i, Row: r.appendRow(nil)})
		size += len(rows[i].Row)
	}
	read := func(b *testing.B, s store.Historian) {
		b.Helper()
		for from := 0; from < len(rows); from += 100 {
			parts.Must(b, s.KeepMinutes(b.Context(), "SHOP", 10*365*24*time.Hour, rows[from:min(len(rows), from+100)]))
		}
		for b.Loop() {
			all, err := Read(b.Context(), s, "SHOP", since, since.AddDate(0, 0, days))
			if parts.Must(b, err); len(all) != len(rows) {
				b.Fatalf("%d minutes", len(all))
			}
		}
	}
	b.Run("embedded", func(b *testing.B) { read(b, parts.OpenStore(b, func() time.Time { return since }, nil)) })
	b.Run("redis", func(b *testing.B) {
		server, err := process.NewRedis(b.Context(), "redis-server", b.TempDir())
		parts.Must(b, err)
		parts.Must(b, server.Start(b.Context()))
		defer func() { parts.Must(b, server.Stop()) }()
		s, err := lua.Open(b.Context(), lua.Options{URL: server.URL()})
		parts.Must(b, err)
		defer func() { _ = s.Close() }()
		before := usedMemory(b, server.Addr())
		read(b, s)
		b.ReportMetric(float64(usedMemory(b, server.Addr())-before), "redis-bytes")
		b.ReportMetric(float64(size)/float64(len(rows)), "bytes/row")
	})
}

// usedMemory is how many bytes a Redis says that it uses.
func usedMemory(b *testing.B, addr string) (bytes int64) {
	b.Helper()
	conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", addr)
	parts.Must(b, err)
	_, err = io.WriteString(conn, "INFO memory\r\nQUIT\r\n")
	parts.Must(b, err)
	text, err := io.ReadAll(conn)
	parts.Must(b, errors.Join(err, conn.Close()))
	_, after, _ := strings.Cut(string(text), "used_memory:")
	_, err = fmt.Sscan(after, &bytes)
	parts.Must(b, err)
	return bytes
}
