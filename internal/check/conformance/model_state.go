package conformance

import (
	"slices"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

func (m *model) state() line.State {
	return line.State{
		NowMillis: m.now, EdgeMicros: m.edge, LastArrivalMicros: m.last,
		Waiting: m.len(), Released: m.released(), Live: m.live(),
		InWindow: m.since(m.rates.WindowMillis), InMinute: m.since(window.MinuteMillis), WindowLimit: m.rates.Limit,
		EdgePassed: m.passed, EdgeLive: m.present,
		Epoch: m.epoch, LostAtMillis: max(0, m.healUntil-window.HealMillis),
		SettlesAtMillis: m.held(m.settings.Gate().SettlesAtMillis), OpensAtMillis: m.held(m.settings.Gate().OpensAtMillis),
	}
}

func (m *model) stats() line.Stats {
	return line.Stats{
		State: m.state(), Totals: m.totals, Waits: slices.Clone(m.waits),
		EstimateMillis: m.estimate(m.len() - m.released()),
	}
}
