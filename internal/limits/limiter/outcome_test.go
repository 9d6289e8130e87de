package limiter

import "testing"

// TestRecent: what was counted more than a minute ago is not recent.
func TestRecent(t *testing.T) {
	t.Parallel()
	s := newPolicyMetrics()
	tier := s.tierMetricsOf("default")
	for range 3 * minute {
		tier.count(RefusedFromMemory)
		s.note()
	}
	tier.count(Allowed)
	if got, want := tier.recent(), (Counts{Allowed: 1, RefusedFromMemory: minute}); got != want || s.seconds != minute || len(tier.past) != minute+1 {
		t.Errorf("%v in %d s of %d, want %v", got, s.seconds, len(tier.past), want)
	}
}
