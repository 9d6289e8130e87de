package estimate

import (
	"math"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	const at = 1000 * began
	for name, tt := range map[string]struct {
		told       Prediction
		waitMillis int64
		want       Judgement
		ok         bool
	}{
		"exact":             {Prediction{at, 10_000, 8_000, 13_000}, 10_000, Judgement{0, 0.5, Held}, true},
		"at the low end":    {Prediction{at, 10_000, 8_000, 12_000}, 8_000, Judgement{0.25, 0.5, Held}, true},
		"at the high end":   {Prediction{at, 10_000, 8_000, 20_000}, 20_000, Judgement{-0.5, 0.6, Held}, true},
		"sooner":            {Prediction{at, 10_000, 9_000, 12_000}, 8_000, Judgement{0.25, 0.375, Sooner}, true},
		"later":             {Prediction{at, 10_000, 8_000, 12_000}, 20_000, Judgement{-0.5, 0.2, Later}, true},
		"without a range":   {Prediction{AtMicros: at, Millis: 15_000}, 10_000, Judgement{0.5, 0, NoRange}, true},
		"within the window": {Prediction{at, 10_000, 8_000, 12_000}, 5_999, Judgement{}, false},
		"clock set back":    {Prediction{at, 10_000, 8_000, 12_000}, -60_000, Judgement{}, false},
	} {
		if got, ok := tt.told.Judge(at+1000*tt.waitMillis, 6_000); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %+v, %v, want %+v, %v", name, got, ok, tt.want, tt.ok)
		}
	}
	if j := (Judgement{Off: -0.5}); math.Abs(j.Error()-0.5) > 1e-9 {
		t.Errorf("half too little is %v off", j.Error())
	}
	if _, ok := (Prediction{AtMicros: at}).Judge(at, 0); ok {
		t.Error("no wait was judged")
	}
}

// TestChanged: an operator's change, and nothing else.
func TestChanged(t *testing.T) {
	t.Parallel()
	var m Model
	before := after(&m, 300, 20, half)
	learnt := m.Learn(rush(300, 21, half), time.Minute)
	if learnt.Changed(before) || before.Changed(nil) || (*Table)(nil).Changed(before) {
		t.Error("changed, though nobody changed anything")
	}
	s := rush(300, 22, half)
	s.Pace = 0
	held := m.Learn(s, time.Minute)
	resumed := m.Learn(rush(300, 23, half), time.Minute)
	s = rush(300, 24, half)
	s.Pace = 120
	faster := m.Learn(s, time.Minute)
	if !held.Changed(learnt) || !resumed.Changed(held) || !faster.Changed(resumed) {
		t.Errorf("held %v, resumed %v, faster %v", held.Changed(learnt), resumed.Changed(held), faster.Changed(resumed))
	}
}
