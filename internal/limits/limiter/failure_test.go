package limiter

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

var errAway = fmt.Errorf("%w: gone", limit.ErrStoreUnavailable)

func TestFailurePolicies(t *testing.T) {
	for _, tt := range []struct {
		policy  limit.FailurePolicy
		source  Source
		allowed int // of 10, with 4 servers and a limit of 10
		counts  Counts
	}{
		{limit.FailureOpen, SourceOpen, 10, Counts{AllowedOpen: 10}},
		{limit.FailureClosed, SourceClosed, 0, Counts{RefusedClosed: 10}},
		{limit.FailureLocal, SourceLocal, 2, Counts{AllowedLocally: 2, RefusedLocally: 8}},
	} {
		t.Run(string(tt.policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 4, limit.Policy{Name: "p", OnStoreFailure: tt.policy, Rules: perMinute(10)})
				w.shared.set(errAway)
				allowed := 0
				for range 10 {
					a := w.ask(t, Question{Policy: "p", Key: "k"})
					if a.Source != tt.source {
						t.Fatalf("source %q", a.Source)
					}
					if a.Allowed {
						allowed++
					} else if a.RetryMillis <= 0 {
						t.Errorf("refused with no time to come back: %+v", a)
					}
				}
				if c := w.Counts()[0].Counts; allowed != tt.allowed || c != tt.counts {
					t.Errorf("%d allowed, %v; want %d, %v", allowed, c, tt.allowed, tt.counts)
				}
				if n := w.shared.asked(); n != 1 {
					t.Errorf("the store was asked %d times; one error is enough", n)
				}
			})
		})
	}
}

// journal is a Meter that writes down its calls.
type journal struct {
	mu  sync.Mutex
	saw []string
}

func (j *journal) Took(Source, time.Duration) {}

func (j *journal) Failing(partition int, failing bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.saw = append(j.saw, fmt.Sprint(partition, failing))
}

func TestThreeAnswersInARowEndAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		meter := &journal{}
		shared := newCounting(time.Now)
		l := New(Dependencies{
			Store: shared, Local: newCounting(time.Now), Meter: meter, Logger: slog.New(slog.NewTextHandler(&logged, nil)),
		})
		l.Use(bookOf(limit.Policy{Name: "p", Rules: perMinute(1000)}))
		l.Start(t.Context())
		source := func() Source {
			a, err := l.Check(t.Context(), Question{Policy: "p", Key: "k"})
			if err != nil {
				t.Fatal(err)
			}
			return a.Source
		}
		shared.set(errAway)
		if s := source(); s != SourceLocal {
			t.Fatalf("from %q", s)
		}
		pass(time.Second + time.Millisecond) // four probes fail
		shared.set(nil)
		pass(2 * ProbeEvery) // two succeed
		if s := source(); s != SourceLocal {
			t.Errorf("after two answers: from %q", s)
		}
		shared.set(errAway)
		pass(ProbeEvery)
		shared.set(nil)
		pass(2 * ProbeEvery)
		if s := source(); s != SourceLocal {
			t.Errorf("after an error between answers: from %q", s)
		}
		pass(ProbeEvery)
		if s := source(); s != SourceStore {
			t.Errorf("after three answers: from %q", s)
		}
		if calls, probes := shared.asked(), shared.probed(); calls != 2 || probes != 4+2+1+3 {
			t.Errorf("%d questions and %d probes went to the store", calls, probes)
		}
		l.Stop()
		if got := fmt.Sprint(meter.saw); got != "[0 true 0 false]" {
			t.Errorf("metered %s", got)
		}
		if n := strings.Count(logged.String(), "\n"); n != 2 {
			t.Errorf("logged %d lines:\n%s", n, &logged)
		}
	})
}

func TestAHungStoreHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, limit.Policy{Name: "p", Rules: perMinute(1000)})
		w.shared.set(errAway)
		w.ask(t, Question{Policy: "p", Key: "k"})
		w.shared.mu.Lock()
		w.shared.hangs = true // probes wait for a second
		w.shared.mu.Unlock()
		for range 100 {
			began := time.Now()
			w.ask(t, Question{Policy: "p", Key: "k"})
			if took := time.Since(began); took > 0 {
				t.Fatalf("a question took %v", took)
			}
			pass(37 * time.Millisecond)
		}
	})
}

func TestPartitionsFailForThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, limit.Policy{Name: "p", Rules: perMinute(1000)}, limit.Policy{Name: "q", Rules: perMinute(1000)})
		w.shared.partition = func(r limit.Request) int {
			if r.Policy == "q" {
				return 1
			}
			return 0
		}
		w.shared.set(errAway)
		w.ask(t, Question{Policy: "p", Key: "k"})
		w.shared.set(nil)
		if a := w.ask(t, Question{Policy: "p", Key: "k"}); a.Source != SourceLocal {
			t.Errorf("p: from %q", a.Source)
		}
		if a := w.ask(t, Question{Policy: "q", Key: "k"}); a.Source != SourceStore {
			t.Errorf("q: from %q", a.Source)
		}
	})
}

// TestExcess checks the bound of doc.go: a store and n servers, one of which is asked all the time
// while the partition fails and is calm again, over and over.
func TestExcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total, servers = 60, 3
		shared := newCounting(time.Now)
		var all []*Limiter
		for range servers {
			l := New(Dependencies{Store: shared, Local: newCounting(time.Now), Servers: servers})
			l.Use(bookOf(limit.Policy{Name: "p", Rules: perMinute(total)}))
			l.Start(t.Context())
			defer l.Stop()
			all = append(all, l)
		}
		var permits []time.Time
		most := 0
		for second := range 300 {
			switch second % 7 {
			case 0:
				shared.set(errAway)
			case 3:
				shared.set(nil)
			}
			for i := range 30 {
				a, err := all[i%servers].Check(t.Context(), Question{Policy: "p", Key: "k"})
				if err != nil {
					t.Fatal(err)
				}
				if a.Allowed {
					permits = append(permits, time.Now())
				}
			}
			inside := 0
			for _, at := range permits {
				if time.Since(at) < time.Minute {
					inside++
				}
			}
			most = max(most, inside)
			pass(time.Second)
		}
		if most > 2*total {
			t.Errorf("%d in a minute, at most %d were to be", most, 2*total)
		}
		if most <= total {
			t.Errorf("%d in a minute: the test did not come to the changing over", most)
		}
		t.Logf("at most %d in a minute, where the limit is %d", most, total)
	})
}

func TestARefusalByALocalShareIsForgottenWhenTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2, limit.Policy{Name: "p", Rules: perMinute(2)})
		q := Question{Policy: "p", Key: "k"}
		w.shared.set(errAway)
		for _, want := range []bool{true, false} {
			if a := w.ask(t, q); a.Allowed != want {
				t.Fatalf("%+v, want allowed %t", a, want)
			}
		}
		w.shared.set(nil)
		pass(4 * ProbeEvery)
		if a := w.ask(t, q); !a.Allowed || a.Source != SourceStore {
			t.Errorf("%+v", a)
		}
	})
}

func TestAStoreThatIsUnknownIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, limit.Policy{Name: "p", Rules: perMinute(2)})
		w.shared.set(errors.New("out of memory"))
		if a := w.ask(t, Question{Policy: "p", Key: "k"}); a.Source != SourceLocal {
			t.Errorf("%+v", a)
		}
	})
}
