package fault

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// lookAtHealth is how often the baseline is laid on.
const lookAtHealth = 20 * time.Millisecond

// baseline measures how late the machine itself is: the slowest answers of
// /healthz, for which a server asks nobody. A test on a busy machine must not
// fail for what is none of the room's doing.
type baseline struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	client  *http.Client

	mu    sync.Mutex
	worst time.Duration
}

// measureServers begins to measure, until stop.
func measureServers(ctx context.Context, servers []*server) *baseline {
	ctx, cancel := context.WithCancel(ctx)
	y := &baseline{cancel: cancel, client: &http.Client{Transport: &http.Transport{}}}
	for _, s := range servers {
		y.running.Go(func() {
			for pause(ctx, lookAtHealth) {
				y.look(ctx, s.public+"/healthz")
			}
		})
	}
	return y
}

// measureTimers begins to measure how late this process's own timers are: where
// the room is in the same process as its crowd.
func measureTimers(ctx context.Context) *baseline {
	ctx, cancel := context.WithCancel(ctx)
	y := &baseline{cancel: cancel, client: &http.Client{}}
	y.running.Go(func() {
		for began := time.Now(); pause(ctx, lookAtHealth); began = time.Now() {
			y.note(time.Since(began) - lookAtHealth)
		}
	})
	return y
}

func (y *baseline) look(ctx context.Context, url string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return
	}
	began := time.Now()
	res, err := y.client.Do(req)
	if err != nil {
		return // the server was killed, or the test is over
	}
	_, _ = io.Copy(io.Discard, res.Body) // so that the connection is used again
	_ = res.Body.Close()
	y.note(time.Since(began))
}

func (y *baseline) note(late time.Duration) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.worst = max(y.worst, late)
}

// stop ends the measuring, and returns the slack.
func (y *baseline) stop() time.Duration {
	y.cancel()
	y.running.Wait()
	y.client.CloseIdleConnections()
	return y.slack()
}

// slack is what a machine that was late by so much for one answer may take on
// top of a time limit: as much again for the timer, and for the client.
func (y *baseline) slack() time.Duration {
	y.mu.Lock()
	defer y.mu.Unlock()
	return 3 * y.worst
}
