package js_test

import (
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/operate/rehearse"
)

// TestInNode runs the tests of the client.
func TestInNode(t *testing.T) {
	t.Parallel()
	if out, err := exec.CommandContext(t.Context(), "node", "--test", "test/").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTheClientKeepsAllRules has it play every act, with a clock that runs faster.
func TestTheClientKeepsAllRules(t *testing.T) {
	t.Parallel()
	const speed = 10
	r, err := rehearse.New(rehearse.Acts(), speed)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := r.Handler()
	if err != nil {
		t.Fatal(err)
	}
	room := httptest.NewServer(handler)
	defer room.Close()
	args := []string{"testdata/rehearse.mjs", room.URL, strconv.Itoa(speed)}
	for _, a := range rehearse.Acts() {
		args = append(args, a.Name)
	}
	out, err := exec.CommandContext(t.Context(), "node", args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	var told strings.Builder
	v := r.Verdict()
	if err := v.Print(&told); err != nil || !v.Kept() || len(v.Missing) > 0 {
		t.Errorf("%v\n%s", err, told.String())
	}
}
