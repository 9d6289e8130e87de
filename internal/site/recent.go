package site

import (
	"cmp"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// pageLoad is how long the calls of a browser count as those of one page, until the answer to the first of them has brought the
	// session.
	pageLoad = 2 * time.Second
	// fetching is the same for whoever may keep no session: crawlers, feed readers, monitors and apps.
	fetching = 5 * time.Second
	// mostOthers is how many requests go on beside the one that was admitted.
	mostOthers = 16
	// mostRecent bounds what is remembered, in browsers, and remembered for how long that is at least.
	mostRecent = 50_000
	remembered = time.Minute
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
	mu       sync.Mutex
	admitted time.Time
	// others is how many requests may still go on beside the one that was admitted then.
	others int
	// unkept is the admission, if it has no session.
	unkept [16]byte
	// slot is the time of the admission in units of pageLoad or fetching, and number how many came before it in that slot.
	slot, number int64
}

// once lets a browser's request go on beside one that was admitted at most length ago, without a session: the admission has one. Else
// decide does, with a name for the admission that all servers use for the same one. Whoever comes again without a session kept none:
// over ends the visit before.
func (r *recent) once(
	browser string, length time.Duration, now time.Time, over func(admission [16]byte), decide func(name string) (verdict, bool),
) (verdict, bool) {
	n := r.find(browser, now)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.others > 0 && now.Sub(n.admitted) < length {
		n.others--
		return verdict{outcome: outAdmitted}, true
	}
	if n.unkept != [16]byte{} {
		over(n.unkept)
		n.unkept = [16]byte{}
	}
	if slot := now.UnixNano() / int64(length); slot != n.slot {
		n.slot, n.number = slot, 0
	}
	v, ok := decide(browser + "." + strconv.FormatInt(n.slot, 10) + "." + strconv.FormatInt(n.number, 10))
	if ok {
		n.admitted, n.others = now, mostOthers
		n.unkept = v.unkept
		n.number++
	}
	return v, ok
}

func (r *recent) find(browser string, now time.Time) *newcomer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if age := now.Sub(r.since); age >= remembered || len(r.now) >= mostRecent {
		if r.before = r.now; age >= 2*remembered {
			r.before = nil
		}
		r.now, r.since = map[string]*newcomer{}, now
	}
	n := cmp.Or(r.now[browser], r.before[browser])
	if n == nil {
		n = &newcomer{}
	}
	r.now[browser] = n
	return n
}

// browser names a browser with a page by what all requests of the page say. The name is the same on all servers, and nobody can
// guess it.
func (s *Service) browser(zoneID, address string, h http.Header) string {
	said := []string{address, h.Get("User-Agent"), h.Get("Accept-Language"), h.Get("Referer")}
	// No zone has this name, so no client's key gives this id.
	id := s.Keys.VisitorID("browser:"+zoneID, strings.Join(said, "\n"))
	return hex.EncodeToString(id[:])
}
