package fault

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/measure"
)

// While pollers poll, one each pollEvery, solutions are checked, one each checkEvery: as many as a crowd of 200,000 solves in
// ten minutes.
const (
	pollers, polls        = 400, 1_500
	pollEvery, checkEvery = 5 * time.Millisecond, 3 * time.Millisecond
)

// TestPollsBesideChecks: while solutions are checked, which costs the server a derivation each, polls are answered. The times are said, and
// not judged: the test's own program takes the same cores. No other test of the package runs beside it.
func TestPollsBesideChecks(t *testing.T) {
	s := room.Start(t, map[string]string{"QUEUE_TRUSTED_PROXIES": "127.0.0.0/8"})
	z := busy("SALE")
	z.PerMinute, z.IdleTimeoutSeconds = 0, 600
	s.Put(t, z)
	var tokens []string
	for n := range pollers {
		d, err := joins(t.Context(), s, nil, fmt.Sprintf("203.0.%d.%d", n/250, n%250), fmt.Sprint("poller-", n), "")
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, d.Token)
	}
	p99 := func() time.Duration {
		var took []time.Duration
		each := time.NewTicker(pollEvery)
		defer each.Stop()
		for n := range polls {
			<-each.C
			began := time.Now()
			got, err := room.Ask(t.Context(), nil, http.MethodPost, s.Public+"/traffic/entry", fmt.Sprintf(`{"zoneId":"SALE","token":%q}`, tokens[n%pollers]))
			if took = append(took, time.Since(began)); err != nil || got.Status != http.StatusOK {
				t.Fatalf("a poll: %+v, %v", got, err)
			}
		}
		slices.Sort(took)
		return measure.Percentile(took, 99)
	}
	alone := p99()

	s.Operate(t, http.MethodPatch, "/admin/zones/SALE", `{"challenge":"work"}`)
	room.Await(t, "the server asks for work", func() bool {
		d, err := joins(t.Context(), s, nil, "198.51.100.1", "nobody", "")
		return err == nil && d.Challenge != nil
	})
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var checking sync.WaitGroup
	checks, checked := 0, 0
	checking.Go(func() {
		for ; pause(ctx, checkEvery); checks++ {
			from, who := fmt.Sprintf("198.18.%d.%d", checks/250, checks%250), fmt.Sprint("wrong-", checks)
			d, err := joins(ctx, s, client, from, who, "")
			if ctx.Err() != nil {
				return
			}
			if err != nil || d.Challenge == nil {
				t.Errorf("%+v, %v", d, err)
				return
			}
			shown, err := json.Marshal(map[string]any{"challenge": d.Challenge.Work, "solution": map[string]int{"counter": 0}})
			if err == nil {
				d, err = joins(ctx, s, client, from, who, base64.StdEncoding.EncodeToString(shown))
			}
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				t.Error(err)
			case d.Challenge != nil && d.Challenge.Reason == challenge.ReasonWrong:
				checked++
			}
		}
	})
	beside := p99()
	end()
	checking.Wait()
	t.Logf("%d polls take %v at p99, and %v beside %d checks of solutions; %s", polls, alone, beside, checks, room.Machine())
	if checked < checks*9/10 || checks == 0 {
		t.Errorf("%d of %d solutions were checked", checked, checks)
	}
}
