package page

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// seat is what the cookie keeps: the clientId, and the newest token or "". used says that the visitor was led on with
// the pass. The token is kept then, since it still finds the admission; the clientId does not if the place was handed
// over (see TokenParameter).
type seat struct {
	client, token string
	used          bool
}

// waits reports whether the cookie has a token that was not used yet, so that the visitor may be in the line.
func (s *seat) waits() bool { return s.token != "" && !s.used }

// keyPrefix begins the name of a cookie of a minute, by which a browser gets its clientId before it joins. The clientId follows in
// the name. The place's cookie takes it over. So tabs that are opened together get cookies that do not replace one another, and all of them use the first one:
// browsers send cookies in the order in which they got them.
const keyPrefix = "waitingroom_client-"

// writeKey gives a browser a clientId for so many seconds; below 0 it takes that away.
func writeKey(c echo.Context, client string, seconds int) {
	c.SetCookie(&http.Cookie{
		Name: keyPrefix + client, Value: "1", Path: c.Request().URL.Path, MaxAge: seconds,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.Scheme() == "https",
	})
}

// next returns the seat after s: a clientId that follows from s, so that tabs get the same one, and no token.
func (s *seat) next() seat {
	sum := sha256.Sum256([]byte(s.client + "." + s.token))
	return seat{client: hex.EncodeToString(sum[:clientBytes])}
}

// readCookie reads the place's cookie, or else the first one of writeKey. A cookie that has another form than write gives it counts
// as none.
func readCookie(c echo.Context, zoneID string) (s seat) {
	if cookie, err := c.Cookie(cookiePrefix + zoneID); err == nil {
		if client, token, ok := strings.Cut(cookie.Value, "."); ok && len(client) == 2*clientBytes {
			token, _, used := strings.Cut(token, ".")
			return seat{client: client, token: token, used: used}
		}
	}
	if keys := readKeys(c); len(keys) > 0 {
		return seat{client: keys[0]}
	}
	return seat{}
}

// readKeys returns the clientIds of writeKey, in the order in which the browser sent them.
func readKeys(c echo.Context) (clients []string) {
	for _, cookie := range c.Cookies() {
		if client, ok := strings.CutPrefix(cookie.Name, keyPrefix); ok && len(client) == 2*clientBytes {
			clients = append(clients, client)
		}
	}
	return clients
}

// write sets the cookie, on the page's own path. page.js writes it in the same form.
func (s seat) write(c echo.Context, zoneID string) {
	for _, client := range readKeys(c) {
		writeKey(c, client, -1)
	}
	value := s.client + "." + s.token
	if s.used {
		value += "."
	}
	c.SetCookie(&http.Cookie{
		Name: cookiePrefix + zoneID, Value: value, Path: c.Request().URL.Path, MaxAge: cookieSeconds,
		SameSite: http.SameSiteLaxMode, Secure: c.Scheme() == "https",
	})
}
