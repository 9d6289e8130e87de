package metric

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestListens(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	l := newListens()
	known := true
	l.read = func() (overflows, drops float64, ok bool) { return 3, 5, known }
	if err := reg.Register(l); err != nil {
		t.Fatal(err)
	}
	const text = `
# HELP queue_listen_drops_total Connections that the kernel turned away from a listener for any reason, a full queue included; all of the network namespace.
# TYPE queue_listen_drops_total counter
queue_listen_drops_total 5
# HELP queue_listen_overflows_total Connections that the kernel turned away since a listen queue was full; all listeners of the network namespace.
# TYPE queue_listen_overflows_total counter
queue_listen_overflows_total 3
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(text)); err != nil {
		t.Error(err)
	}
	known = false
	if err := testutil.GatherAndCompare(reg, strings.NewReader("")); err != nil {
		t.Errorf("where nothing is known: %v", err)
	}
}
