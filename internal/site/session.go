package site

import (
	"crypto/rand"
	"encoding/hex"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zones"
)

// SessionHeader is the header of a session, for apps without cookies. It is in the answer to an app
// that shows a pass, and from then on in the app's requests.
const SessionHeader = "X-Waiting-Room-Session"

// names are those of one cookie, without the zone, which follows: by TLS for one host, by TLS for all hosts of the zone's
// cookieDomain, and without TLS. Browsers accept __Host- only from the site itself, by TLS and for all its paths, and __Secure- by TLS.
// The waiting page's cookies begin otherwise.
type names [3]string

var (
	// sessionNames are those of a session.
	sessionNames = names{"__Host-waitingroom-", "__Secure-waitingroom-", "waitingroom_session-"}
	// keyNames are those of the key by which the gate knows a browser that it sent to the waiting page: random, and known to
	// nobody else.
	keyNames = names{"__Host-waitingroom_key-", "__Secure-waitingroom_key-", "waitingroom_key-"}
)

const (
	// keySize is the length of a key, in hexadecimal digits.
	keySize = 32
	// keyLife is how long a browser keeps it: longer than a line of a day. One that comes later gets another.
	keyLife = 24 * time.Hour
)

// OwnCookie reports whether a cookie, as NAME=VALUE, is of the gate or of the waiting page.
func OwnCookie(pair string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(pair, "__Host-"), "__Secure-")
	return strings.HasPrefix(name, "waitingroom-") || strings.HasPrefix(name, "waitingroom_")
}

// newKey returns a key that nobody guesses.
func newKey() string {
	var raw [keySize / 2]byte
	_, _ = rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}

// held is what a visitor's request shows of what the gate gave out before.
type held struct {
	// session is good if inside is true.
	session token.Session
	inside  bool
	// key is the browser's, "" for none. A browser has one from when it is sent to wait until it is inside.
	key string
}

// find returns the first good session that the request has, in a cookie or in SessionHeader, and the browser's key. A
// session that was set without TLS is good by TLS, too: the site may lead from one to the other. So a browser may have several:
// one that is not to stay, as it is done or revoked, does not hide another.
func find(keys *token.Keys, zoneID string, header http.Header, now time.Time, stays func(token.Session) bool) (h held) {
	take := func(text string) {
		if h.inside || len(text) != token.SessionSize {
			return
		}
		found, err := keys.VerifySession(zoneID, text)
		if err == nil && found.Good(now) && stays(found) {
			h.session, h.inside = found, true
		}
	}
	for _, line := range header["Cookie"] {
		for line != "" {
			var pair string
			pair, line, _ = strings.Cut(line, ";")
			pair = strings.TrimLeft(pair, " ")
			if value, ok := sessionNames.value(pair, zoneID); ok {
				take(value)
			} else if value, ok := keyNames.value(pair, zoneID); ok && h.key == "" && len(value) == keySize {
				h.key = value
			}
		}
	}
	take(field(header, SessionHeader))
	return h
}

// Inside returns a function that reports whether a request has a good session of the zone, which the gate lets go on.
func Inside(keys *token.Keys, known *zones.Zones, now func() time.Time) func(zoneID string, header http.Header) bool {
	return func(zoneID string, header http.Header) bool {
		z, at := known.Known(zoneID), now()
		return find(keys, zoneID, header, at, func(is token.Session) bool {
			// The gate may not let one go on that is due, and so must not be led to.
			return z == nil || !z.Over(is.Admission) && (!due(z, is, at) || z.Settings().InvitationAt(at) == "")
		}).inside
	}
}

// value returns the value of a cookie, if it has one of the names.
func (n *names) value(pair, zoneID string) (value string, ok bool) {
	for _, name := range n {
		if value, ok = strings.CutPrefix(pair, name); ok {
			if value, ok = strings.CutPrefix(value, zoneID); ok && strings.HasPrefix(value, "=") {
				return value[1:], true
			}
		}
	}
	return "", false
}

// keep is what an answer gives a browser or an app to keep. The zero value is nothing.
type keep struct {
	// names are those of the cookie. An app gets a header instead: then they are nil.
	names *names
	// text is kept for length. A length of 0 takes the cookie away.
	text   string
	length time.Duration
	// domain is the zone's cookieDomain, "" for a cookie of one host.
	domain string
}

// set puts it into the header of an answer to q. There is one cookie at most: nginx hands no more on.
func (k *keep) set(h http.Header, zoneID string, q *request) {
	if k.names == nil {
		h.Set(SessionHeader, k.text)
		return
	}
	name, more := k.names[2], ""
	shared := k.domain != "" && q.under(k.domain)
	switch {
	case q.secure && shared:
		name, more = k.names[1], "; Secure"
	case q.secure:
		name, more = k.names[0], "; Secure"
	}
	if shared {
		more += "; Domain=" + k.domain
	}
	h.Add("Set-Cookie", name+zoneID+"="+k.text+"; Path=/; Max-Age="+strconv.FormatInt(int64(k.length/time.Second), 10)+
		"; HttpOnly; SameSite=Lax"+more)
}

// under reports whether the visitor's host is the domain or below it: browsers refuse other cookies for the domain.
func (q *request) under(domain string) bool {
	host := q.host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(host)
	return host == domain || strings.HasSuffix(host, "."+domain)
}
