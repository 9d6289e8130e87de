package main

import (
	"time"

	"github.com/openqueue/waitingroom/internal/check/acceptance"
)

type (
	// loadReport is what a load test of all scenarios has shown.
	loadReport struct {
		occasion
		Size     string    `json:"size"`
		Headline string    `json:"headline"`
		Runs     []loadRun `json:"runs"`
	}
	// loadRun is one scenario on one store: see acceptance.Verdict. Processor time is
	// a request's.
	loadRun struct {
		Scenario      string        `json:"scenario"`
		Store         string        `json:"store"`
		Came          int           `json:"came"`
		In            int           `json:"in"`
		Limit         int64         `json:"limit"`
		MostWindow    int           `json:"mostWindow"`
		PerMinute     int64         `json:"perMinute"`
		MostMinute    int           `json:"mostMinute"`
		LongestWait   time.Duration `json:"longestWaitNanos"`
		Lost          int           `json:"lost"`
		OvertakenP99  float64       `json:"overtakenP99"`
		OvertakenMost float64       `json:"overtakenMost"`
		EstimateError float64       `json:"estimateError"`
		Capacity      float64       `json:"capacity"`
		Requests      int           `json:"requests"`
		P50           time.Duration `json:"p50Nanos"`
		P99           time.Duration `json:"p99Nanos"`
		ServerMicros  float64       `json:"serverMicros,omitzero"`
		RedisMicros   float64       `json:"redisMicros,omitzero"`
		MemoryMB      int64         `json:"memoryMB,omitzero"`
	}
)

func loadReportOf(s *acceptance.Summary, m machine) *loadReport {
	l := &loadReport{occasion: occasion{When: s.When, Took: s.Took.Round(time.Second), machine: m}, Size: s.Size, Headline: s.Headline()}
	for _, r := range s.Runs {
		v := r.Verdict
		requests := float64(max(1, v.Requests))
		l.Runs = append(l.Runs, loadRun{
			Scenario: r.Story.Scenario, Store: r.Store, Came: v.Came, In: v.In, Limit: v.Limit, MostWindow: v.MostWindow,
			PerMinute: v.PerMinute, MostMinute: v.MostMinute, LongestWait: time.Duration(v.LongestWait) * time.Millisecond, Lost: v.Lost,
			OvertakenP99: v.OvertakenP99, OvertakenMost: v.OvertakenMost, EstimateError: v.EstimateError, Capacity: v.Capacity,
			Requests: v.Requests, P50: time.Duration(v.LatencyP50) * time.Millisecond, P99: time.Duration(v.LatencyP99) * time.Millisecond,
			ServerMicros: micros(r.Cost.Server) / requests, RedisMicros: micros(r.Cost.Redis) / requests, MemoryMB: r.Cost.ServerBytes >> 20,
		})
	}
	return l
}
