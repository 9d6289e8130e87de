package limit

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// The ranges of a rule.
const (
	// MaxLimit and MaxWindowSeconds keep all numbers of the arithmetic below 2^53.
	MaxLimit = 10_000_000
	// MaxLogLimit bounds what a log keeps. One key then takes a megabyte, two at worst,
	// and to drop all of it at once takes Redis a few milliseconds.
	MaxLogLimit = 10_000
	// MaxWindowSeconds is a day.
	MaxWindowSeconds = 86_400
	// MaxLogCost bounds how many permits one request adds to a log, for which the layout
	// in Redis has ten bits.
	MaxLogCost = 1_000
)

// ErrInvalid is wrapped by every error of the Validate methods.
var ErrInvalid = errors.New("limit: invalid policy")

// Rule is one limit.
type Rule struct {
	Algorithm Algorithm `json:"algorithm" yaml:"algorithm" doc:"How it counts; docs/explain/limits.md tells which one when." example:"sliding_log"`
	// Limit is at most MaxLimit, and that of its algorithm.
	Limit         int64 `json:"limit" yaml:"limit" minimum:"1" maximum:"10000000" doc:"How many permits there are in a window; at most 10,000 for a sliding_log." example:"100"`
	WindowSeconds int64 `json:"windowSeconds" yaml:"windowSeconds" minimum:"1" maximum:"86400" doc:"The length of the window." example:"60"`
	Burst         int64 `json:"burst,omitempty" yaml:"burst,omitempty" maximum:"10000000" doc:"How many tokens a token_bucket holds (0 or absent: as many as limit), or how many requests may wait to leave a leaky_bucket. Nothing else has one." example:"5"`
}

// Window is the length of the window.
func (r Rule) Window() time.Duration { return time.Duration(r.WindowSeconds) * time.Second }

func (r Rule) millis() int64 { return r.WindowSeconds * 1000 }

// Permits is the most permits that may be taken at once: the largest cost that can ever be
// allowed.
func (r Rule) Permits() int64 { return r.Algorithm.kind().permits(r) }

// Quota is the most permits that a window can grant to a client who took none before: the
// parameter q of RateLimit-Policy.
func (r Rule) Quota() int64 {
	if r.Algorithm.HasBurst() {
		return r.Permits()
	}
	return r.Limit
}

// faults returns the faults of the rule, a sentence each.
func (r Rule) faults() []string {
	var all []string
	bad := func(format string, a ...any) { all = append(all, fmt.Sprintf(format, a...)) }
	between := func(name string, v, lo, hi int64) {
		if v < lo || v > hi {
			bad("%s is %d, must be between %d and %d", name, v, lo, hi)
		}
	}
	if !slices.Contains(Algorithms, r.Algorithm) {
		bad("algorithm %q must be one of %v", r.Algorithm, Algorithms)
	}
	between("limit", r.Limit, 1, r.Algorithm.MaxLimit())
	between("windowSeconds", r.WindowSeconds, 1, MaxWindowSeconds)
	if r.Algorithm.HasBurst() {
		between("burst", r.Burst, 0, MaxLimit)
	} else if r.Burst != 0 {
		bad("burst is for token_bucket and leaky_bucket only")
	}
	return all
}

// Scale fits a rule to the size of what it protects.
type Scale struct {
	// By/Of is the factor by which limit and burst are multiplied; the results are rounded up.
	// By is 0-10,000,000, Of at least 1.
	By, Of int64
	// Least and Most bound what may be taken at once. If Least is greater than Most, Most
	// counts.
	Least, Most int64
}

// Scaled returns the rule fitted by s, with the same window. It is valid if the rule is.
func (r Rule) Scaled(s Scale) Rule {
	scaled := func(n int64) int64 { return max(1, min(MaxLimit, (n*s.By+s.Of-1)/s.Of)) }
	atOnce := func(n int64) int64 { return max(1, min(max(scaled(n), s.Least), s.Most, MaxLimit)) }
	return r.Algorithm.kind().fitted(r, scaled, atOnce)
}

// Share returns the part of the rule that one of n servers grants, rounded down; at least one permit.
// So n servers never grant more than the rule, if its limit and its permits are n or more.
func (r Rule) Share(n int64) Rule {
	part := func(total int64) int64 { return max(1, total/n) }
	return r.Algorithm.kind().fitted(r, part, part)
}
