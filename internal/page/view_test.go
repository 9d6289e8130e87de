package page_test

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestProgress: the bar grows as the wait passes, and shows no less on a page that a browser without scripts loads anew.
func TestProgress(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 10)
	for range 20 {
		r.browser().get("")
	}
	b := r.browser()
	bar := regexp.MustCompile(`<progress [^>]*value="(\d+)"[^>]*>`)
	shown := func(query string) int {
		t.Helper()
		w := b.get(query)
		found := bar.FindStringSubmatch(w.Body.String())
		if found == nil || strings.Contains(found[0], "hidden") {
			t.Fatalf("no bar:\n%s", w.Body)
		}
		n, err := strconv.Atoi(found[1])
		must(t, err)
		if reload := html.EscapeString("reloaded=" + found[1]); !strings.Contains(w.Body.String(), reload) {
			t.Errorf("the page that is loaded anew is not told %s", reload)
		}
		return n
	}
	if n := shown(""); n != 1 {
		t.Errorf("%d %% of a wait that has begun", n)
	}
	r.now = r.now.Add(5 * time.Second)
	if n := shown(""); n < 2 || n > 20 {
		t.Errorf("%d %% of two minutes after 5 s", n)
	}
	if again := shown("?reloaded=90"); again != 90 {
		t.Errorf("%d %% after 90", again)
	}
	for _, forged := range []string{"-1", "x", "1000"} {
		if again := shown("?reloaded=" + forged); again < 1 || again > 99 {
			t.Errorf("%d %% after %s", again, forged)
		}
	}
}
