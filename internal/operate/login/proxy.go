package login

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/operate/people"
)

// Proxy knows who asks by the headers of a proxy that logs people in, such as oauth2-proxy or Pomerium.
type Proxy struct {
	// UserHeader has the name of who asks, GroupsHeader their groups, with commas between. Without a GroupsHeader, each is
	// in one group: that of their own name.
	UserHeader, GroupsHeader string
	// From are the networks of the proxies. The headers of others count for nothing.
	From   []netip.Prefix
	Groups Groups
}

// Identify returns who asks, and whether the proxy names somebody; of a request that comes from elsewhere, false. The error is
// ErrNoGroup. A header that is there twice names nobody: the proxy added one to what the browser sent. So does a name with a
// comma: something on the way may have joined the two (RFC 9110, section 5.3).
func (p *Proxy) Identify(r *http.Request) (who people.Identity, named bool, err error) {
	if p == nil {
		return who, false, nil
	}
	if peer, _ := address.Told(r, nil); !address.Within(p.From, peer) { // that of the connection, whatever the request says
		return who, false, nil
	}
	users, groups := r.Header.Values(p.UserHeader), r.Header.Values(p.GroupsHeader)
	if len(users) != 1 || users[0] == "" || strings.Contains(users[0], ",") || len(groups) > 1 {
		return who, false, nil
	}
	var of []string
	if p.GroupsHeader == "" {
		groups = users
	}
	for text := range strings.SplitSeq(strings.Join(groups, ""), ",") {
		if text = strings.TrimSpace(text); text != "" {
			of = append(of, text)
		}
	}
	who, err = p.Groups.identity(audit.Proxy, users[0], "", of)
	return who, err == nil, err
}
