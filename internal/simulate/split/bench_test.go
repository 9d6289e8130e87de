//go:build !race

package split

import (
	"fmt"
	"testing"
)

// show reports a run as metrics of a benchmark: its time is that of the
// simulator and means nothing.
func show(b *testing.B, got Report) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(100*got.CapacityUsed, "capacity-%")
	b.ReportMetric(got.OvertakenP99, "overtaken-p99")
	b.ReportMetric(got.OvertakenMax, "overtaken-max")
	b.ReportMetric(got.Polls, "polls/visitor")
	b.ReportMetric(got.PollRate, "polls/s")
	b.ReportMetric(got.MessageRate, "messages/s")
	b.ReportMetric(float64(got.MaxInWindow), "most-in-window")
	neverOver(b, got)
}

// BenchmarkParts is the table of docs/scaling.md: 200,000 at 60,000 a minute.
func BenchmarkParts(b *testing.B) {
	for _, leave := range []float64{0, .35} {
		for _, parts := range []int{1, 4, 16, 64} {
			b.Run(fmt.Sprintf("leave=%.0f%%/parts=%d", 100*leave, parts), func(b *testing.B) {
				var got Report
				for b.Loop() {
					got = Run(Config{
						Zone: zoneOf(60_000, 6), Parts: parts, Visitors: 200_000, ArriveMillis: 10_000, Leave: leave,
						RoundMillis: 50, Seed: 1,
					})
				}
				show(b, got)
			})
		}
	}
}

// BenchmarkFault is what each fault costs: seconds at the full rate an event.
func BenchmarkFault(b *testing.B) {
	var calm Report
	for _, f := range faults {
		b.Run(f.name, func(b *testing.B) {
			var got Report
			for b.Loop() {
				got = Run(Config{
					Zone: zoneOf(12_000, 6), Parts: 4, Visitors: 60_000, ArriveMillis: 10_000, RoundMillis: f.round,
					Faults: f.Faults, Seed: 3,
				})
			}
			if f.name == "nothing" {
				calm = got
			}
			show(b, got)
			if got.Events > 0 {
				b.ReportMetric((calm.CapacityUsed-got.CapacityUsed)*got.Seconds/float64(got.Events), "seconds/event")
			}
		})
	}
}
