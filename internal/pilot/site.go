package pilot

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

// Site is a model of a site that slows down as it fills. It answers AtOnce requests at a time, each in Takes; more wait inside it,
// and it refuses those that would wait for longer than Patience.
//
// It is a closed queueing network of visitors who ask, read for Think and ask again: Schweitzer's approximation of mean value
// analysis, with the site's many servers as one fast server and a delay, after Seidmann. See R. Jain, The Art of Computer Systems
// Performance Analysis, chapter 34.
type Site struct {
	AtOnce int64
	Takes  time.Duration
	// Think is how long a visitor inside reads before the next request.
	Think time.Duration
}

const (
	// Patience is how long a request waits inside a site before the site fails it, as the shorter timeouts of databases do.
	Patience = 5 * time.Second
	// tail is the 95th percentile of the time of an answer, to its mean.
	tail = 1.5
	// think is how long visitors read where nothing else is said.
	think = 5 * time.Second
)

var siteText = regexp.MustCompile(`^\s*(\d{1,9}) at a time, (\d{1,6}(?:\.\d{1,3})?) ?(ms|s)\s*$`)

// ReadSite reads "200 at a time, 40 ms".
func ReadSite(text string) (Site, error) {
	m := siteText.FindStringSubmatch(text)
	if m == nil {
		return Site{}, fmt.Errorf("%q is no site; write how many requests it answers at a time, and how long one takes: \"200 at a time, 40 ms\"", text)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n < 1 {
		return Site{}, fmt.Errorf("a site answers at least 1 request at a time, not %s", m[1])
	}
	takes, err := time.ParseDuration(m[2] + m[3])
	if err != nil || takes <= 0 || takes > Patience {
		return Site{}, fmt.Errorf("a request takes more than 0 s and at most %s, not %s%s", Patience, m[2], m[3])
	}
	return Site{AtOnce: n, Takes: takes, Think: think}, nil
}

// Best is how many requests the site answers in a second at most.
func (s Site) Best() float64 { return float64(s.AtOnce) / s.Takes.Seconds() }

// At returns how the site is with so many visitors inside: the 95th percentile of its answers in milliseconds, what part of them fails, 0 to
// 1, and how many a second succeed.
func (s Site) At(inside int64) (p95Millis, failed, perSecond float64) {
	if inside < 1 {
		return tail * float64(s.Takes.Milliseconds()), 0, 0
	}
	m, d := float64(inside), s.Takes.Seconds()/float64(s.AtOnce)
	z := s.Think.Seconds() + s.Takes.Seconds() - d
	// The time at the fast server solves r = d (1 + (m-1) r / (z + r)).
	half := (z - d - d*(m-1)) / 2
	r := -half + math.Sqrt(half*half+d*z)
	if patience := Patience.Seconds(); r > patience {
		failed, r = 1-patience/r, patience
	}
	p95Millis = 1000 * tail * (r + s.Takes.Seconds() - d)
	return p95Millis, failed, min(s.Best(), m/(z+r)) * (1 - failed)
}
