package zone_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/zone"
)

// TestNetworkShares: each text of the list, with a word of what is wrong with it; "" for one that is taken.
func TestNetworkShares(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"AS64500=1": "", "AS4294967295=100": "", "198.51.100.0/24=0": "", "2001:db8:1:2::/64=0.5": "", "2001:db8::/64=.25": "", "2001:db8::/48=1": "", "2001:db8::/56=1": "", "198.51.96.0/20=1": "",
		"AS64500": "must end with =", "AS64500=": "must end with =", "AS64500=101": "from 0 to 100", "AS64500=-1": "from 0 to 100", "AS64500=NaN": "from 0 to 100",
		"AS64500=5%": "from 0 to 100", "AS64500=1=2": "from 0 to 100",
		"AS0=1": "must begin with", "AS064500=1": "must begin with", "AS4294967296=1": "must begin with", "as64500=1": "must begin with", "64500=1": "must begin with",
		"198.51.100.1=1": "must begin with", "198.51.100.1/24=1": "must begin with", "198.51.0.0/16=1": "must begin with", "2001:db8::1/64=1": "must begin with",
		"2001:db8::/52=1": "must begin with", "198.51.100.0/20=1": "must begin with", "2001:DB8::/64=1": "must begin with", "::ffff:198.51.100.0/120=1": "must begin with", "=1": "must begin with",
		"AS64511=1": "twice",
	} {
		s := zone.Defaults("Z")
		s.NetworkShares = []string{"AS64511=1", text}
		if err := s.Validate(); (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "networkShares")) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestSetShare: one network gets another share, and the others keep theirs.
func TestSetShare(t *testing.T) {
	t.Parallel()
	s := zone.Defaults("Z")
	if fault := zone.Table.Find("networkShares").Type(&s, "AS64500=40, 2001:db8:1:2::/64=0.5"); fault != "" {
		t.Fatal(fault)
	}
	for _, tt := range []struct{ network, percent, want string }{
		{"AS64500", "1", "2001:db8:1:2::/64=0.5 AS64500=1"},
		{"AS6450", "1", "AS64500=40 2001:db8:1:2::/64=0.5 AS6450=1"},
		{"AS64500", "", "2001:db8:1:2::/64=0.5"},
		{"AS64501", "", "AS64500=40 2001:db8:1:2::/64=0.5"},
	} {
		if got := strings.Join(s.SetShare(tt.network, tt.percent).NetworkShares, " "); got != tt.want {
			t.Errorf("%s %s: %s", tt.network, tt.percent, got)
		}
	}
	if !slices.Equal(s.NetworkShares, []string{"AS64500=40", "2001:db8:1:2::/64=0.5"}) {
		t.Errorf("the settings have changed: %q", s.NetworkShares)
	}
	if share, own := s.OwnShare("2001:db8:1:2::/64"); share != 0.5 || !own {
		t.Errorf("%v %v", share, own)
	}
	if share, own := s.OwnShare("AS6450"); own {
		t.Errorf("AS6450 has a share: %v", share)
	}
}
