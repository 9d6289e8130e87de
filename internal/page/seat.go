package page

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zones"
)

// seat is what the cookie keeps: the clientId, and the newest token or "". used says that the visitor was led on with
// the pass. The token is kept then, since it still finds the admission.
type seat struct {
	client, token string
	used          bool
}

// waits reports whether the cookie has a token that was not used yet, so that the visitor may be in the line.
func (s *seat) waits() bool { return s.token != "" && !s.used }

// keyPrefix begins the name of a cookie of a minute, by which a browser gets its clientId before it joins. The clientId follows in
// the name. So tabs that are opened together get cookies that do not replace one another, and all of them use the first one:
// browsers send cookies in the order in which they got them. The place's cookie takes the clientId over.
const keyPrefix = "waitingroom_client-"

// keyCookie gives a browser a clientId for so many seconds; below 0 it takes that away.
func keyCookie(client string, seconds int) *http.Cookie {
	return &http.Cookie{Name: keyPrefix + client, Value: "1", MaxAge: seconds, HttpOnly: true}
}

// next returns the seat after s: a clientId that follows from s, so that tabs get the same one, and no token.
func (s *seat) next() seat {
	sum := sha256.Sum256([]byte(s.client + "." + s.token))
	return seat{client: hex.EncodeToString(sum[:clientBytes])}
}

// readCookie reads the place's cookie, or else the first one of keyCookie. A cookie that has another form than
// that of seat.cookie counts as none.
func readCookie(r *http.Request, zoneID string) (s seat) {
	if cookie, err := r.Cookie(cookiePrefix + zoneID); err == nil {
		if client, token, ok := strings.Cut(cookie.Value, "."); ok && len(client) == 2*clientBytes {
			token, _, used := strings.Cut(token, ".")
			return seat{client: client, token: token, used: used}
		}
	}
	if keys := readKeys(r); len(keys) > 0 {
		return seat{client: keys[0]}
	}
	return seat{}
}

// readKeys returns the clientIds of keyCookie, in the order in which the browser sent them.
func readKeys(r *http.Request) (clients []string) {
	for _, cookie := range r.Cookies() {
		if client, ok := strings.CutPrefix(cookie.Name, keyPrefix); ok && len(client) == 2*clientBytes {
			clients = append(clients, client)
		}
	}
	return clients
}

// cookie returns the place's cookie. page.js writes it in the same form.
func (s seat) cookie(zoneID string) *http.Cookie {
	value := s.client + "." + s.token
	if s.used {
		value += "."
	}
	return &http.Cookie{Name: cookiePrefix + zoneID, Value: value, MaxAge: cookieSeconds}
}

// keeps reports whether the seat may still be of use: in the line, or for a pass that is not the refused one. It says so, too, if the
// store cannot be asked.
func (h *HTTP) keeps(ctx context.Context, z *zones.Zone, s seat, refused string, from entry.Origin) bool {
	a, err := h.poll(ctx, z, s.token, from)
	if err == nil {
		return !a.CanEnter() || Refused(a.Pass) != refused
	}
	return !errors.Is(err, entry.ErrGone) && !errors.Is(err, token.ErrInvalid)
}

// randomHex returns clientBytes random bytes.
func randomHex() string {
	id := make([]byte, clientBytes)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}
