package zone

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// MaxNetworkShares bounds the list of networks that have a share of their own: it is gone through with each join. maxNetworkShare is
// in bytes: a network of IPv6 and its share.
const (
	MaxNetworkShares = 50
	maxNetworkShare  = 64
)

// NetworksOf returns the networks that joins of an address are counted by, the widest first: a /20 and a /24 of IPv4, or a /48, a /56
// and a /64 of IPv6.
func NetworksOf(a netip.Addr) (all []netip.Prefix) {
	widths := []int{48, 56, 64}
	if a.Is4() {
		widths = []int{20, 24}
	}
	for _, bits := range widths {
		all = append(all, netip.PrefixFrom(a, bits).Masked())
	}
	return all
}

// SetShare returns the settings with another share for one network, in per cent; "" takes its own share away.
func (s Settings) SetShare(network, percent string) Settings {
	s.NetworkShares = slices.DeleteFunc(slices.Clone(s.NetworkShares), func(text string) bool { return strings.HasPrefix(text, network+"=") })
	if percent != "" {
		s.NetworkShares = append(s.NetworkShares, network+"="+percent)
	}
	return s
}

// OwnShare returns the share that the settings give one network, in per cent. ok is false if they give it none.
func (s Settings) OwnShare(network string) (percent float64, ok bool) {
	for _, text := range s.NetworkShares {
		if of, share, _ := strings.Cut(text, "="); of == network {
			percent, err := strconv.ParseFloat(share, 64)
			return percent, err == nil
		}
	}
	return 0, false
}

func (s Settings) networkShareFault() string {
	seen := map[string]bool{}
	for _, text := range s.NetworkShares {
		network, share, _ := strings.Cut(text, "=")
		percent, err := strconv.ParseFloat(share, 64)
		switch {
		case !countedBy(network):
			return fmt.Sprintf("%q must begin with a network that joins are counted by, such as AS64500, 198.51.100.0/24 or 2001:db8:1:2::/64", text)
		case err != nil || !(percent >= 0 && percent <= 100):
			return fmt.Sprintf("%q must end with =, and per cent from 0 to 100, such as %s=0.5", text, network)
		case seen[network]:
			return fmt.Sprintf("it has %s twice", network)
		}
		seen[network] = true
	}
	return ""
}

// countedBy reports whether joins are counted by a network of that name: an AS, or one that NetworksOf returns.
func countedBy(network string) bool {
	if number, is := strings.CutPrefix(network, "AS"); is {
		n, err := strconv.ParseUint(number, 10, 32)
		return err == nil && n > 0 && strconv.FormatUint(n, 10) == number
	}
	p, err := netip.ParsePrefix(network)
	return err == nil && !p.Addr().Is4In6() && slices.Contains(NetworksOf(p.Addr()), p) && p.String() == network
}
