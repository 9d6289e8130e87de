package main

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/admissionlog/writer"
	"github.com/openqueue/waitingroom/internal/metric"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zones"
)

// openAdmissionsLog opens the log of admissions.
func openAdmissionsLog(
	s checked, keys keys, version string, zones *zones.Zones, seen *watch.Watch, metrics *metric.Metrics, reg prometheus.Registerer, log *slog.Logger,
) (*writer.Log, error) {
	return writer.Open(writer.Options{
		Dir: s.AdmissionsLog, Version: version, Sign: keys.passes.Sign, Store: zones, Keep: time.Duration(s.HistoryDays) * 24 * time.Hour,
		Watched: seen.Last, Refused: metrics.RefusedBy, AS: s.asn.AS, Registerer: reg, Logger: log,
	})
}
