package operator_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestNetworks: what the API says of the networks of a zone, and what it refuses.
func TestNetworks(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	z := zone.Defaults("Z")
	z.NetworkShares = []string{"2001:db8::/64=0.5"}
	r.set(t, z)
	for _, from := range []string{"203.0.113.1", "203.0.113.2", "2001:db8::1"} {
		j, err := r.shares.Begin(&z, netip.MustParseAddr(from), false, true)
		parts.Must(t, err)
		j.End(network.Counts{Joins: 1})
	}
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"Z/networks": {http.StatusOK, `{"zoneId":"Z","minutes":15,"joins":3,"admissions":0,"refused":0,"networks":[` +
			`{"network":"203.0.113.0/24","joins":2,"admissions":0,"refused":0,"part":66.66666666666667},{"network":"2001:db8::/64","joins":1,"admissions":0,"refused":0,"part":33.333333333333336,"share":0.5}]}` + "\n"},
		"Z/networks?limit=1": {http.StatusOK, `{"zoneId":"Z","minutes":15,"joins":3,"admissions":0,"refused":0,"networks":[` +
			`{"network":"203.0.113.0/24","joins":2,"admissions":0,"refused":0,"part":66.66666666666667}]}` + "\n"},
		"Z/networks?limit=0":    {http.StatusBadRequest, ""},
		"Z/networks?limit=1001": {http.StatusBadRequest, ""},
		"Z/networks?limit=x":    {http.StatusBadRequest, ""},
		"NONE/networks":         {http.StatusNotFound, ""},
	} {
		w := r.send("GET", "/admin/zones/"+path, "")
		if w.Code != want.status || want.body != "" && w.Body.String() != want.body {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
