package page_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/room"
)

// TestProgress: the bar grows as the wait passes.
func TestProgress(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10)
	for range 20 {
		r.browser().get("")
	}
	b := r.browser()
	bar := regexp.MustCompile(`<progress [^>]*value="(\d+)"[^>]*>`)
	shown := func() int {
		t.Helper()
		w := b.get("")
		found := bar.FindStringSubmatch(w.Body.String())
		if found == nil || strings.Contains(found[0], "hidden") {
			t.Fatalf("no bar:\n%s", w.Body)
		}
		n, err := strconv.Atoi(found[1])
		room.Must(t, err)
		return n
	}
	if n := shown(); n != 1 {
		t.Errorf("%d %% of a wait that has begun", n)
	}
	r.Forward(5 * time.Second)
	// Some of those ahead are late by now, at random, and so the wait may be far below two minutes.
	if n := shown(); n < 2 || n > 50 {
		t.Errorf("%d %% after 5 s of at most two minutes", n)
	}
}
