package zone

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// MaxNetworkShares bounds the list of networks that have a share of their own: it is gone through with each join.
const MaxNetworkShares = 50

// maxNetworkShare is in bytes: a network of IPv6 and its share.
const maxNetworkShare = 64

// The networks that joins are counted by, if they are no provider's: see package network.
const (
	NetworkBitsIPv4 = 24
	NetworkBitsIPv6 = 64
)

// Network shares are texts such as AS64500=1 and 2001:db8:1:2::/64=0.5: a network, and its share in per cent.

// SetShare returns the settings with another share for one network; "" takes its own share away.
func (s Settings) SetShare(network, percent string) Settings {
	var all []string
	for _, text := range s.NetworkShares {
		if !strings.HasPrefix(text, network+"=") {
			all = append(all, text)
		}
	}
	if percent != "" {
		all = append(all, network+"="+percent)
	}
	s.NetworkShares = all
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
		case !counted(network):
			return fmt.Sprintf("%q must begin with a network that is counted, such as AS64500, 198.51.100.0/24 or 2001:db8:1:2::/64", text)
		case err != nil || !(percent >= 0 && percent <= 100):
			return fmt.Sprintf("%q must end with =, and per cent from 0 to 100, such as %s=0.5", text, network)
		case seen[network]:
			return fmt.Sprintf("it has %s twice", network)
		}
		seen[network] = true
	}
	return ""
}

// counted reports whether joins are counted by a network of that name.
func counted(network string) bool {
	if number, is := strings.CutPrefix(network, "AS"); is {
		n, err := strconv.ParseUint(number, 10, 32)
		return err == nil && n > 0 && strconv.FormatUint(n, 10) == number
	}
	p, err := netip.ParsePrefix(network)
	bits := NetworkBitsIPv6
	if p.Addr().Is4() {
		bits = NetworkBitsIPv4
	}
	return err == nil && p.Bits() == bits && !p.Addr().Is4In6() && p.Masked().String() == network
}
