package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// callTimeout is for one call, connection and answer included: the Standard Webhooks scheme asks for 15 to 30 s.
	callTimeout = 20 * time.Second
	// mostAnswer is how much of an answer is read, so that the connection can be used again.
	mostAnswer = 4 << 10
)

// errAddress: the name of the receiver resolves to an address that the webhook must not call.
var errAddress = errors.New("webhook: the address is not public, and not in privateNetworks")

// reserved are networks of IPv4, and of IPv6 in unicast, that IsGlobalUnicast and IsPrivate take for public and that are not, by the
// registries of IANA for special purposes.
var (
	reserved = []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
		netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
		netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20"),
	}
	// unicast has all public addresses of IPv6. Those that carry one of IPv4 otherwise lie outside.
	unicast = netip.MustParsePrefix("2000::/3")
)

// newClient returns the client that calls a webhook. It follows no redirect and uses no proxy. roots are the authorities that it
// trusts; nil for the system's.
func newClient(h *Hook, roots *x509.CertPool) *http.Client {
	dialer := &net.Dialer{
		Timeout: callTimeout,
		Control: func(_, address string, _ syscall.RawConn) error { return h.mayDial(address) },
	}
	return &http.Client{
		Timeout:       callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: callTimeout,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
			MaxConnsPerHost: 1, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 16 << 10,
		},
	}
}

// mayDial is asked with each address that a name was resolved to, just before it is connected to.
func (h *Hook) mayDial(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	a := to.Addr().Unmap().WithZone("")
	for _, network := range h.networks {
		if network.Contains(a) {
			return nil
		}
	}
	public := (a.Is4() || unicast.Contains(a)) && a.IsGlobalUnicast() && !a.IsPrivate() && strings.HasPrefix(h.URL, "https:")
	for _, network := range reserved {
		public = public && !network.Contains(a)
	}
	if !public {
		return fmt.Errorf("%w: %v", errAddress, a)
	}
	return nil
}

// send makes a call. An error is any answer but 2xx. It never has the URL, whose path or query may be secret.
func (h *Hook) send(ctx context.Context, client *http.Client, id string, now time.Time, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	at := strconv.FormatInt(now.Unix(), 10)
	var signatures []string
	for _, secret := range h.secrets {
		sum := hmac.New(sha256.New, secret)
		sum.Write([]byte(id + "." + at + "."))
		sum.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "queue-server")
	req.Header.Set("Webhook-Id", id)
	req.Header.Set("Webhook-Timestamp", at)
	req.Header.Set("Webhook-Signature", strings.Join(signatures, " "))
	answer, err := client.Do(req)
	if err != nil {
		return errors.Unwrap(err) // of a url.Error
	}
	_, _ = io.CopyN(io.Discard, answer.Body, mostAnswer) // only the status counts
	_ = answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("webhook: the receiver answered %d", answer.StatusCode)
	}
	return nil
}
