package main

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/configfile"
	"github.com/openqueue/waitingroom/internal/operate/login"
)

// minLoginAge is the shortest session: one that ended during a change would cost its operator the form.
const minLoginAge = 5 * time.Minute

// readLogins sets groups and checks how people log in to whom this server trusts. look tells what is wrong with a setting.
func (c *checked) readLogins(file *configfile.File, proxies []netip.Prefix, look func(flag string, err error)) {
	c.groups = file.Groups
	look("config", c.groups.Check())
	if c.OIDCIssuer != "" {
		look("oidc-issuer", checkWebURL(c.OIDCIssuer))
		look("admin-url", checkWebURL(c.AdminURL))
		if u, err := url.Parse(c.AdminURL); err == nil && u.Path != "" && u.Path != "/" {
			look("admin-url", fmt.Errorf("%q has a path; the console is at one of its own", c.AdminURL))
		}
		if c.OIDCClientID == "" {
			look("oidc-client-id", errors.New("is empty; name this waiting room as the provider does"))
		}
		if !slices.Contains(c.OIDCScopes, "openid") {
			look("oidc-scopes", errors.New("lacks openid"))
		}
	}
	if c.AdminUserHeader != "" {
		if len(proxies) == 0 {
			look("admin-proxies", errors.New("is empty; name the networks of the proxies that log people in"))
		}
		c.adminProxy = &login.Proxy{UserHeader: c.AdminUserHeader, GroupsHeader: c.AdminGroupsHeader, From: proxies, Groups: c.groups}
	}
	if (c.OIDCIssuer != "" || c.AdminUserHeader != "") && len(c.groups) == 0 {
		look("config", errors.New("has no groups: nobody who logs in by them could do anything. Add groups: [{group: NAME, role: admin}]"))
	}
}

// checkWebURL refuses what is no address of the web: by https, or on this machine by http.
func checkWebURL(text string) error {
	u, err := url.Parse(text)
	if err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		host, ipErr := netip.ParseAddr(u.Hostname())
		if u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ipErr == nil && host.IsLoopback()) {
			return nil
		}
	}
	return fmt.Errorf("%q is no address such as https://queue-admin.example", text)
}

// newLogin returns who logs people in to the console, nil without a provider.
func newLogin(s checked, keys keys) *login.Provider {
	if s.OIDCIssuer == "" {
		return nil
	}
	return login.NewProvider(login.ProviderOptions{
		Issuer: s.OIDCIssuer, ClientID: s.OIDCClientID, ClientSecret: s.oidcSecret, Scopes: s.OIDCScopes,
		NameClaim: s.OIDCNameClaim, RolesClaim: s.OIDCRolesClaim, AdminURL: s.AdminURL, Groups: s.groups, Secrets: keys.secrets,
	})
}
