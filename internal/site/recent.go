package site

import (
	"cmp"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// recently is how long the requests of one browser count as those of one page load: until the answer to the first of
	// them has brought the session.
	recently = 5 * time.Second
	// sameJoin is how long a browser's joins are one in the store, for all servers. Browsers behind one address may say the
	// same, and are then let in together.
	sameJoin = 10 * time.Second
	// mostRecent bounds what is remembered, in browsers.
	mostRecent = 50_000
)

// recent remembers which browsers were admitted just now by requests that can only go on or be refused, such as the ten
// calls of a page that came from a CDN. So one page load costs one admission.
type recent struct {
	mu          sync.Mutex
	since       time.Time
	now, before map[string]*newcomer
}

// newcomer is a browser without a session. Its requests are decided one after the other.
type newcomer struct {
	mu   sync.Mutex
	v    verdict
	isIn bool
}

// once returns the browser's verdict of the last seconds, if that let the browser in, and else what decide returns.
func (r *recent) once(browser string, now time.Time, decide func() (verdict, bool)) (verdict, bool) {
	r.mu.Lock()
	if age := now.Sub(r.since); age >= recently || len(r.now) >= mostRecent {
		if r.before = r.now; age >= 2*recently {
			r.before = nil
		}
		r.now, r.since = map[string]*newcomer{}, now
	}
	n := cmp.Or(r.now[browser], r.before[browser])
	if n == nil {
		n = &newcomer{}
		r.now[browser] = n
	}
	r.mu.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.isIn {
		n.v, n.isIn = decide()
	}
	return n.v, n.isIn
}

// browser names a browser by what all of its requests say. The name is the same on all servers, and nobody can guess it.
func (s *Service) browser(zoneID, address string, h http.Header) string {
	said := []string{address, h.Get("User-Agent"), h.Get("Accept-Language")}
	// No zone has this name, so no client's key gives this id.
	id := s.Keys.VisitorID("browser:"+zoneID, strings.Join(said, "\n"))
	return hex.EncodeToString(id[:])
}
