package observed

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	// maxKinds bounds the kinds of requests of a zone that are kept.
	maxKinds = 1000
	// maxParts and maxPart bound a path: its parts, and the bytes of one that is no id.
	maxParts, maxPart = 8, 32
	// idDigits is how many digits make a part of a path an id. A version has fewer.
	idDigits = 3
)

// Would is what the gate would do in a line.
type Would string

const (
	// Wait: a browser would be led to the waiting page, and back to the page that it wants.
	Wait Would = "wait"
	// Lose: it would be led to the waiting page, and what another site's page sent with it (POST) would be lost.
	Lose Would = "lose"
	// Refuse: it would be refused.
	Refuse Would = "refuse"
)

// What sends requests, beside programs, which have their names.
const (
	Browser = "browser"
	// Page is a page of the site in a browser, with a call or a frame. It has a session where the gate sees the page itself.
	Page    = "page"
	Crawler = "crawler"
	// Nameless says no User-Agent, or one that is no name.
	Nameless = "none"
)

// Request is one that has no session and is never bypassed.
type Request struct {
	Method, Path string
	// UserAgent is what it says. Agent is one of the constants, "" for a program.
	UserAgent, Agent string
	Would            Would
}

// Kind is one kind of requests.
type Kind struct {
	Method string `json:"method" example:"POST" doc:"The method."`
	Path   string `json:"path" example:"/saml/acs" doc:"The path, without query. What looks like an id is a *."`
	Agent  string `json:"agent" example:"browser" doc:"What sent it: browser, page (a call or a frame of a page of the site), crawler, the name of a program, or none."`
	Would  Would  `json:"would" enum:"wait|lose|refuse" example:"lose" doc:"In a line: wait (at the waiting page), lose (wait, and lose the form that another site sent), refuse."`
}

// Seen is a kind of requests, and how often it came.
type Seen struct {
	Kind
	Requests int64 `json:"requests" minimum:"1" example:"12" doc:"How many there were."`
	LastAt   int64 `json:"lastAt" format:"int64" minimum:"0" maximum:"9007199254740991" example:"1795223373123" doc:"When the last one came, in Unix milliseconds."`
}

// Log keeps kinds of requests, by zone. It is safe for concurrent use. The zero value is ready.
type Log struct {
	mu    sync.Mutex
	zones map[string]*kinds
}

type kinds struct {
	since     time.Time
	seen      map[Kind]*Seen
	forgotten int64
}

// Add counts a request.
func (l *Log) Add(zoneID string, r *Request, now time.Time) {
	k := Kind{Method: method(r.Method), Path: withoutIDs(r.Path), Agent: cmp.Or(r.Agent, program(r.UserAgent)), Would: r.Would}
	l.mu.Lock()
	defer l.mu.Unlock()
	z := l.zones[zoneID]
	if z == nil {
		if l.zones == nil {
			l.zones = map[string]*kinds{}
		}
		z = &kinds{since: now, seen: map[Kind]*Seen{}}
		l.zones[zoneID] = z
	}
	s := z.seen[k]
	if s == nil {
		if len(z.seen) >= maxKinds {
			z.forget()
		}
		s = &Seen{Kind: k}
		z.seen[k] = s
	}
	s.Requests, s.LastAt = s.Requests+1, now.UnixMilli()
}

// forget forgets the kind with the fewest requests, that of a browser that opens a page first, and of several the one that is silent for
// the longest.
func (z *kinds) forget() {
	var least *Seen
	for _, s := range z.seen {
		if least == nil || s.before(least) {
			least = s
		}
	}
	z.forgotten += least.Requests
	delete(z.seen, least.Kind)
}

func (s *Seen) before(o *Seen) bool {
	if (s.Would == Wait) != (o.Would == Wait) {
		return s.Would == Wait
	}
	return cmp.Or(cmp.Compare(s.Requests, o.Requests), cmp.Compare(s.LastAt, o.LastAt)) < 0
}

// method is a method, or OTHER for one that no site knows.
func method(m string) string {
	if slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, m) {
		return m
	}
	return "OTHER"
}

// withoutIDs returns a path in which * stands for whatever looks like an id.
func withoutIDs(path string) string {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.SplitN(strings.TrimPrefix(path, "/"), "/", maxParts+1)
	if len(parts) > maxParts {
		parts[maxParts] = "*"
	}
	for i, part := range parts {
		name, ending := part, ""
		if dot := strings.LastIndexByte(part, '.'); i == len(parts)-1 && dot > 0 && len(part)-dot <= len(".webmanifest") && !isID(part[dot:]) {
			name, ending = part[:dot], part[dot:]
		}
		if isID(name) {
			parts[i] = "*" + ending
		}
	}
	return "/" + strings.Join(parts, "/")
}

// isID reports whether a part of a path may be one of very many.
func isID(part string) bool {
	digits := 0
	for _, c := range part {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '@', c == '%', c == '=', c == '*', c > unicode.MaxASCII, unicode.IsControl(c):
			return true
		}
	}
	// A word of a path is shorter than a random text without digits.
	const word = 24
	return digits >= idDigits || digits > 0 && digits == len(part) || len(part) > maxPart || len(part) >= word && !strings.ContainsAny(part, "-_.")
}

// programName matches how programs begin their User-Agent.
var programName = regexp.MustCompile(`^[A-Za-z][A-Za-z ._-]*[A-Za-z]`)

// program returns the name of the program that says this User-Agent.
func program(agent string) string {
	agent = agent[:min(len(agent), maxPart)]
	agent, _, _ = strings.Cut(agent, "/")
	if strings.HasPrefix(agent, "Mozilla") || strings.HasPrefix(agent, "Opera") {
		return Browser
	}
	return cmp.Or(programName.FindString(agent), Nameless)
}
