// Package rehearsed has the clients of this project play the acts of package rehearse. Go
// clients do so in virtual time, over connections in memory, so that a minute of waiting
// takes no time.
package rehearsed

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/operate/rehearse"
)

// URL is where a client finds the room.
const URL = "http://room.example"

// Judge has a client play the acts, all at once, and returns the verdict. Answers that
// are meant to be well-formed are held against the API's description. play waits in the
// zone of that name until it has the pass, or gives up.
func Judge(t *testing.T, acts []rehearse.Act, play func(ctx context.Context, c *http.Client, zoneID string)) (v rehearse.Verdict) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r, err := rehearse.New(acts, 1)
		if err != nil {
			t.Fatal(err)
		}
		room := process.NewPipes()
		server := &http.Server{Handler: r.Handler(), ReadHeaderTimeout: time.Minute}
		var serving, playing sync.WaitGroup
		serving.Go(func() { _ = server.Serve(room) })
		wire := &http.Transport{DialContext: room.Dial}
		client := &http.Client{Transport: openapitest.Public.Transport(&described{TB: t}, wire)}
		ctx, cancel := context.WithCancel(t.Context())
		for _, a := range acts {
			playing.Go(func() {
				play(ctx, client, a.Name)
				r.Left(a.Name)
			})
		}
		r.Wait(ctx)
		cancel()
		playing.Wait()
		v = r.Verdict()
		wire.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
	return v
}

// WantKept fails the test unless all acts were played, and no rule was broken.
func WantKept(t *testing.T, v rehearse.Verdict) {
	t.Helper()
	var told strings.Builder
	if err := v.Print(&told); err != nil || !v.Kept() || len(v.Missing) > 0 {
		t.Errorf("%v; the verdict is\n%s", err, told.String())
	}
}

// described fails the test for answers that are not as they are described.
type described struct{ testing.TB }

// foreign are parts of complaints about answers that are not the room's: of the service
// behind it, of something in between, and to a path or method that it does not have.
var foreign = []string{"GET /service:", "<!doctype html>", "ACCESS_DENIED", ": 502: ", ": 504: ", ": 405: ", ": 405 {", `"code":"not_found"`}

func (d *described) Error(args ...any) {
	d.Helper()
	text := fmt.Sprint(args...)
	if !slices.ContainsFunc(foreign, func(part string) bool { return strings.Contains(text, part) }) {
		d.TB.Error(text)
	}
}
