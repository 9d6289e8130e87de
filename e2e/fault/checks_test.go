package fault

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/measure"
)

// The polls are measured in turns of pollsTurn, without checks and beside checks of solutions, one each checkEvery: as many as a crowd of
// 200,000 solves in ten minutes. pollers poll, one each pollEvery.
const (
	pollsTurn, pollsTurns = 2 * time.Second, 8
	pollEvery, checkEvery = 5 * time.Millisecond, 3 * time.Millisecond
	pollers               = 400
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
	s.Operate(t, http.MethodPatch, "/admin/zones/SALE", `{"challenge":"work"}`)
	room.Await(t, "the server asks for work", func() bool {
		d, err := joins(t.Context(), s, nil, "198.51.100.1", "nobody", "")
		return err == nil && d.Challenge != nil
	})

	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	checks, checked := 0, 0
	check := func() {
		checks++
		from, who := fmt.Sprintf("198.18.%d.%d", checks/250, checks%250), fmt.Sprint("wrong-", checks)
		d, err := joins(t.Context(), s, client, from, who, "")
		if err != nil || d.Challenge == nil {
			t.Errorf("%+v, %v", d, err)
			return
		}
		shown, err := json.Marshal(map[string]any{"challenge": d.Challenge.Work, "solution": map[string]int{"counter": 0}})
		if err != nil {
			t.Error(err)
			return
		}
		d, err = joins(t.Context(), s, client, from, who, base64.StdEncoding.EncodeToString(shown))
		if err != nil {
			t.Error(err)
		} else if d.Challenge != nil && d.Challenge.Reason == challenge.ReasonWrong {
			checked++
		}
	}
	var took [2][]time.Duration // without checks, and beside them
	for turn := range pollsTurns {
		ended := make(chan struct{})
		if turn%2 == 1 {
			go func() {
				defer close(ended)
				each := time.NewTicker(checkEvery)
				defer each.Stop()
				for until := time.Now().Add(pollsTurn); time.Now().Before(until) && !t.Failed(); <-each.C {
					check()
				}
			}()
		} else {
			close(ended)
		}
		each := time.NewTicker(pollEvery)
		for until := time.Now().Add(pollsTurn); time.Now().Before(until); <-each.C {
			token := tokens[len(took[turn%2])%pollers]
			began := time.Now()
			got, err := room.Ask(t.Context(), nil, http.MethodPost, s.Public+"/traffic/entry", fmt.Sprintf(`{"zoneId":"SALE","token":%q}`, token))
			if took[turn%2] = append(took[turn%2], time.Since(began)); err != nil || got.Status != http.StatusOK {
				t.Errorf("a poll: %+v, %v", got, err)
				break
			}
		}
		each.Stop()
		<-ended
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	alone, beside := measure.Percentile(took[0], 99), measure.Percentile(took[1], 99)
	t.Logf("%d polls take %v in the median and %v at p99; %d beside %d checks of solutions %v and %v: p99 is %.2f times as long; %s", len(took[0]), took[0][len(took[0])/2],
		alone, len(took[1]), checks, took[1][len(took[1])/2], beside, float64(beside)/float64(alone), room.Machine())
	if checked < checks*9/10 || checks == 0 {
		t.Errorf("%d of %d solutions were checked", checked, checks)
	}
}
