package limiter

import (
	"slices"
	"strings"
)

// whole is the share of a client that has all of its permits left.
const whole = 1 << 16

// left is what an answer leaves of the rule that leaves the smallest share, in
// 1/whole of what that rule permits.
func left(a *Answer) uint64 {
	least := int64(whole)
	for i, q := range a.Quotas {
		if quota := a.Rules[i].Quota(); quota > 0 {
			least = min(least, max(0, q.Remaining)*whole/quota)
		}
	}
	return uint64(least)
}

// counted are the questions that somebody counted, or that were known to be refused:
// those whose clients have a known share left.
func (c Counts) counted() uint64 { return c[Allowed] + c[Refused] + c[RefusedFromMemory] }

// remaining is the mean share of permits that was left to those who asked, of up to
// the last minute: 0 to 1, and 1 where nobody asked. The caller holds the mutex of
// policyMetrics.
func (t *tierMetrics) remaining() float64 {
	asked := t.read().minus(t.last).counted()
	for _, c := range t.recent.newest(minute) {
		asked += c.counted()
	}
	sum := t.left.Load() - t.lastLeft
	for _, l := range t.recentLeft.newest(minute) {
		sum += l
	}
	if asked == 0 {
		return 1
	}
	return min(1, float64(sum)/float64(asked)/whole)
}

// Kind is what a client was told apart by, as its key begins.
type Kind int

// The kinds.
const (
	// Other is every key that a service has made up for a check.
	Other Kind = iota
	Member
	APIKey
	Address
	// ClientID is a visitor's, asked by the guard of this server.
	ClientID

	kinds
)

// kindNames are what keys begin with, up to the colon.
var kindNames = [kinds]string{"other", "member", "apikey", "ip", "client"}

// String is the kind as metrics name it: what its keys have before the colon.
func (k Kind) String() string { return kindNames[k] }

func kindOf(key string) Kind {
	// What the guard counts in one zone is "zone:SHOP/" and the key of the client.
	if of, client, in := strings.Cut(key, "/"); in && strings.HasPrefix(of, "zone:") {
		key = client
	}
	name, _, found := strings.Cut(key, ":")
	if !found {
		return Other
	}
	return Kind(max(int(Other), slices.Index(kindNames[:], name)))
}

// KindCounts are how many questions of a policy were refused since this server
// started, by the kind of client.
type KindCounts struct {
	Policy  string
	Refused [kinds]uint64
}

// Refusals returns the counts of all policies, in the order of their names.
func (l *Limiter) Refusals() []KindCounts {
	var all []KindCounts
	for _, p := range l.inForce.Load().byName() {
		one := KindCounts{Policy: p.name}
		for k := range one.Refused {
			one.Refused[k] = p.kinds[k].Load()
		}
		all = append(all, one)
	}
	return all
}

// refuse notes whom a policy refused.
func (p *policy) refuse(l *Limiter, key string) {
	p.kinds[kindOf(key)].Add(1)
	p.heavyHitters.refused(l, key)
}
