package console_test

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/network"
)

// TestNetworks: an operator sees the networks with the most joins, lowers the share of one after confirmation, lifts that, and undoes it.
func TestNetworks(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	settings := r.put("Z")
	p := r.enter("Anna")
	shows(t, p.get("zones/Z?tab=networks"), "Nobody has joined lately.", "No bound is set")

	for from, times := range map[string]int{"203.0.113.1": 3, "2001:db8::1": 1} {
		for range times {
			j, err := r.shares.Begin(&settings, netip.MustParseAddr(from), false, true)
			parts.Must(t, err)
			j.End(network.Counts{Joins: 1})
		}
	}
	r.shares.Admit(&settings, netip.MustParseAddr("203.0.113.7"))
	shows(t, p.get("zones/Z?tab=networks"), "last 15 minutes at this server: 4, refused 0.", "203.0.113.0/24 3 75.0 % 1 0 Set 1 % Refuse 2001:db8::/64 1 25.0 % 0 0 Set 1 % Refuse")

	asked := p.get("zones/Z/change?network=203.0.113.0/24&share=1")
	shows(t, asked, "Set shares of networks of Z to 203.0.113.0/24=1?", "newcomers from a network that has its share are refused", "Cancel Set shares of networks")
	if got := r.zone("Z"); len(got.NetworkShares) > 0 {
		t.Fatalf("asking has set %q", got.NetworkShares)
	}
	shows(t, p.follow(p.post("zones/Z/change", formOf(t, asked, "zones/Z/change"))), "by Anna (claimed). Shares of networks none → to 203.0.113.0/24=1 Undo")
	shows(t, p.get("zones/Z?tab=networks"), "203.0.113.0/24 3 75.0 % 1 0 1 % Lift Set 1 % Refuse")
	p.confirm(t, "network=2001:db8::/64&share=0")
	if got := r.zone("Z").NetworkShares; !slices.Equal(got, []string{"203.0.113.0/24=1", "2001:db8::/64=0"}) {
		t.Errorf("%q", got)
	}
	done := p.follow(p.confirm(t, "network=203.0.113.0/24&share="))
	if got := r.zone("Z").NetworkShares; !slices.Equal(got, []string{"2001:db8::/64=0"}) {
		t.Errorf("lifted: %q", got)
	}
	p.post("zones/Z/undo", formOf(t, done, "zones/Z/undo"))
	if got := r.zone("Z").NetworkShares; !slices.Equal(got, []string{"203.0.113.0/24=1", "2001:db8::/64=0"}) {
		t.Errorf("undone: %q", got)
	}
	for _, query := range []string{"network=%3Cb%3E&share=1", "network=AS64500&share=101"} {
		w := p.get("zones/Z/change?" + query)
		shows(t, w, "This cannot be set")
		if w.Code != http.StatusUnprocessableEntity || strings.Contains(w.Body.String(), "<b>") {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}
