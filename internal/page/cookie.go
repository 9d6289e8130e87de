package page

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/answer"
)

const (
	// cookiePrefix is before the zone in the cookie's name.
	cookiePrefix = "waitingroom-"
	// cookieSeconds is how long a browser keeps it: longer than any line.
	cookieSeconds = 7 * 86_400
	// clientBytes is the length of a clientId that the page makes.
	clientBytes = 16
)

// seat is what the cookie keeps: the clientId, and the newest token or "".
type seat struct{ client, token string }

// The query parameters with which somebody leads to the page, besides `to`. The page acts
// on them once, and then shows itself at an address without them.
const (
	// AgainParameter asks for a new place instead of the one that the cookie has.
	AgainParameter = "again"
	// TokenParameter hands a place over that was taken for the visitor: a token of the zone.
	// Who has a place already keeps it, since it is the older one.
	TokenParameter = "token"
)

// newSeat is that of a browser which has none.
func newSeat() seat {
	id := make([]byte, clientBytes)
	_, _ = rand.Read(id) // never fails
	return seat{client: hex.EncodeToString(id)}
}

// reseat does what the parameters ask for.
func reseat(c echo.Context, zoneID string, q url.Values) error {
	s := readCookie(c, zoneID)
	if s.client == "" || q.Has(AgainParameter) {
		s = newSeat()
	}
	if tok := q.Get(TokenParameter); s.token == "" && len(tok) <= answer.MaxToken {
		s.token = tok
	}
	s.write(c, zoneID)
	q.Del(AgainParameter)
	q.Del(TokenParameter)
	header := c.Response().Header()
	header.Set(echo.HeaderCacheControl, "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	return c.Redirect(http.StatusSeeOther, "?"+q.Encode())
}

// readCookie reads the zone's cookie; one that is not as the page wrote it counts as
// none.
func readCookie(c echo.Context, zoneID string) (s seat) {
	cookie, err := c.Cookie(cookiePrefix + zoneID)
	if err != nil {
		return seat{}
	}
	client, token, ok := strings.Cut(cookie.Value, ".")
	if !ok || len(client) != 2*clientBytes {
		return seat{}
	}
	return seat{client: client, token: token}
}

// write sets the cookie, on the page's own path. The script writes it, too.
func (s seat) write(c echo.Context, zoneID string) {
	c.SetCookie(&http.Cookie{
		Name: cookiePrefix + zoneID, Value: s.client + "." + s.token, Path: c.Request().URL.Path, MaxAge: cookieSeconds,
		SameSite: http.SameSiteLaxMode, Secure: c.Scheme() == "https",
	})
}
