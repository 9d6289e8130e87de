package lua

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/line"
)

// TestTotalsAreThoseOfTheScripts: the scripts count what line.TotalTable has, and reply in
// its order.
func TestTotalsAreThoseOfTheScripts(t *testing.T) {
	t.Parallel()
	const file = "line/include/zone.lua"
	text, err := sources.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range line.TotalTable {
		names = append(names, "'"+x.Snake()+"'")
	}
	want := fmt.Sprintf("local TOTALS = { %s }\n", strings.Join(names, ", "))
	if !strings.Contains(string(text), want) {
		t.Errorf("%s must have, as internal/line/total.go has them: %s", file, want)
	}
}
