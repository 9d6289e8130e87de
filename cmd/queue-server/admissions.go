package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/admissionlog/writer"
	"github.com/openqueue/waitingroom/internal/metric"
	"github.com/openqueue/waitingroom/internal/serve/secret"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zones"
)

// openAdmissionsLog opens the log of admissions.
func openAdmissionsLog(
	s checked, keys keys, version string, zones *zones.Zones, seen *watch.Watch, metrics *metric.Metrics, reg prometheus.Registerer, log *slog.Logger,
) (*writer.Log, error) {
	return writer.Open(writer.Options{
		Dir: s.AdmissionsLog, Version: version, Sign: keys.passes.Sign, Store: zones, Keep: time.Duration(s.HistoryDays) * 24 * time.Hour,
		Watched: seen.Last, Refused: metrics.RefusedBy, AS: s.asn.AS, Registerer: reg, Logger: log, Now: time.Now,
	})
}

// signer returns the secrets of a server with the settings of the environment, and what signs as it does. It makes no secret.
func signer(getenv func(string) string) func() ([][]byte, func(typ string, claims any) (string, error), error) {
	return func() ([][]byte, func(typ string, claims any) (string, error), error) {
		var s settings
		command, src := &cobra.Command{}, newSources(getenv)
		addFlags(command, &s)
		if err := src.fill(command.Flags()); err != nil {
			return nil, nil, err
		}
		checked, err := s.check(src.where, src.file)
		if err != nil {
			return nil, nil, err
		}
		secrets := checked.secrets
		if len(secrets) == 0 {
			if _, err := os.Stat(filepath.Join(s.DataDir, secret.File)); err != nil {
				return nil, nil, fmt.Errorf("no QUEUE_SECRET is set, and the data folder has none: %w", err)
			}
			if secrets, _, err = secret.Load(s.DataDir); err != nil {
				return nil, nil, err
			}
		}
		signer, err := checked.passKeys.NewSigner(checked.PassIssuer, secrets...)
		if err != nil {
			return nil, nil, err
		}
		return secrets, signer.Sign, nil
	}
}
