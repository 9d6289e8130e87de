package console

import (
	"context"
	"strings"
	"testing"
)

// TestFirstEventIsOfNow: who connects after nobody has looked for a while is not shown what was seen last.
func TestFirstEventIsOfNow(t *testing.T) {
	t.Parallel()
	e := eventCache{made: map[string][]byte{}}
	of := func(tick int64, content, want string) {
		t.Helper()
		got, err := e.of(t.Context(), tick, "zones", func(context.Context) (any, error) { return content, nil })
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("in round %d: %s, %v, want %s", tick, got, err, want)
		}
	}
	of(0, "ten", "ten")
	of(7, "seven", "seven")
	of(7, "others' seven", `"seven"`)
	of(0, "now", "now")
	of(8, "eight", "eight")
}
