package page

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
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
