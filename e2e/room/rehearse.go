package room

import (
	"net/http/httptest"
	"testing"

	"github.com/openqueue/waitingroom/internal/operate/rehearse"
)

// RehearseSpeed is how many times as short as it is told the pauses of Rehearse are.
const RehearseSpeed = 10

// Rehearse has a program play the acts of package rehearse, and returns the verdict: play has it wait in all of the
// zones. See package rehearsed for clients in Go.
func Rehearse(t *testing.T, play func(url string, zones []string)) rehearse.Verdict {
	t.Helper()
	r, err := rehearse.New(rehearse.Acts(), RehearseSpeed)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(r.Handler())
	defer server.Close()
	var zones []string
	for _, a := range rehearse.Acts() {
		zones = append(zones, a.Name)
	}
	play(server.URL, zones)
	return r.Verdict()
}
