package zone

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// CommonOff is the value of BypassCommon that queues what browsers and machines fetch without cookies; the other is on.
const CommonOff = "off"

// GateObserve is the value of SiteGate with which the gate refuses nobody, and keeps what would wait or be refused; the other is on.
const GateObserve = "observe"

// Network reads a network, such as 192.0.2.0/24, or an address, which is a network of one.
func Network(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Prefix(a.BitLen())
	}
	return netip.ParsePrefix(text)
}

func (s Settings) networkFault() string {
	for _, text := range s.BypassNetworks {
		switch n, err := Network(text); {
		case err != nil || strings.Contains(text, "%"):
			return fmt.Sprintf("%q must be a network such as 192.0.2.0/24, or an address", text)
		case n.Addr().Is4In6():
			return fmt.Sprintf("%q is an IPv4 network: write it as 192.0.2.0/24", text)
		case n != n.Masked():
			return fmt.Sprintf("%q has bits behind its length: write %s", text, n.Masked())
		case n.Bits() == 0:
			return fmt.Sprintf("%q is everybody: mode open admits everybody", text)
		}
	}
	return ""
}

// pathFault refuses each pattern that no request can match, with the reason. The gate compares decoded text.
func (s Settings) pathFault() string {
	for _, pattern := range s.BypassPaths {
		if reason := patternFault(pattern); reason != "" {
			return fmt.Sprintf("%q can never match: %s", pattern, reason)
		}
	}
	return ""
}

func patternFault(pattern string) string {
	path, query, has := strings.Cut(pattern, "?")
	switch {
	case !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "*"):
		return "a path begins with /"
	case strings.ContainsAny(pattern, `%`):
		return "it is compared with the decoded address: write the character itself"
	case strings.ContainsAny(path, `\;#`), strings.Contains(path, "//"), strings.Contains(path, ".."),
		strings.HasSuffix(path, "/."), strings.Contains(path, "/./"):
		return `the gate always queues paths with //, /./, .., \, # or ;`
	case !has:
		return ""
	}
	names := map[string]bool{}
	query, _ = strings.CutSuffix(query, "&*")
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		switch {
		case name == "" || strings.ContainsAny(name, "*"):
			return "behind ? stand parameters such as wc-api=*, with & between, and &* at the end if the request may have others"
		case strings.ContainsAny(part, ";#"):
			return "a query has neither ; nor #"
		case names[name]:
			return "it has " + name + " twice"
		}
		names[name] = true
	}
	return ""
}

// FromFormat1 has settings that version 0.1.0 stored (format 1) mean what they meant there: a pattern with parameters took requests with
// any others, too, and no place was set aside. That version refuses the tokens of a zone that sets places aside.
func (s *Settings) FromFormat1() {
	s.KeepPlaceSeconds = 0
	for _, patterns := range [][]string{s.BypassPaths, s.DonePaths} {
		for i, pattern := range patterns {
			if strings.Contains(pattern, "?") && !strings.HasSuffix(pattern, "&*") {
				patterns[i] = pattern + "&*"
			}
		}
	}
}

func (s Settings) agentFault() string {
	for _, part := range s.BypassAgents {
		if strings.Contains(part, "*") {
			return fmt.Sprintf("%q can never match: it is a part of the User-Agent, without *", part)
		}
	}
	return ""
}

// anyOrigin is what browsers say as an Origin, of sites and of apps: a scheme and a host, in small letters.
var anyOrigin = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://([a-z0-9-]+(\.[a-z0-9-]+)*|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$`)

func (s Settings) originFault() string {
	for _, text := range s.CORSOrigins {
		u, err := url.Parse(text)
		if err != nil || !anyOrigin.MatchString(text) {
			return fmt.Sprintf("%q must be an origin in small letters without a path, such as https://www.shop.example", text)
		}
		if port := u.Port(); u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
			return fmt.Sprintf("%q can never match: browsers leave the usual port out", text)
		}
	}
	return ""
}
