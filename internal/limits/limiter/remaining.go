package limiter

import (
	"slices"
	"strings"
)

// whole is the share of a client that has all of its permits left.
const whole = 1 << 16

// left is the share that an answer leaves of the rule of which it leaves the smallest share, in
// 1/whole of the rule's quota.
func left(a *Answer) uint64 {
	least := int64(whole)
	for i, q := range a.Quotas {
		if quota := a.Rules[i].Quota(); quota > 0 {
			least = min(least, max(0, q.Remaining)*whole/quota)
		}
	}
	return uint64(least)
}

// counted is the number of questions after which the client's share is known: they were
// decided by counts, or refused from memory, which leaves 0.
func (c Counts) counted() uint64 { return c[Allowed] + c[Refused] + c[RefusedFromMemory] }

// remaining is TierCounts.Remaining. The caller holds the mutex of policyMetrics.
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

// Kind is what a client was told apart by: the beginning of its key.
type Kind int

// The kinds.
const (
	// Other is every other key, which a service has named in a check.
	Other Kind = iota
	Member
	APIKey
	Address
	// ClientID is the clientId of a visitor, which the guard of this server counts.
	ClientID

	kinds
)

// kindNames are the beginnings of keys, up to the colon.
var kindNames = [kinds]string{"other", "member", "apikey", "ip", "client"}

// String returns the name of the kind in metrics: the part of its keys before the colon.
func (k Kind) String() string { return kindNames[k] }

func kindOf(key string) Kind {
	// For counts of one zone, the guard puts "zone:SHOP/" before the key of the client.
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
		one := KindCounts{Policy: p.Name}
		for k := range one.Refused {
			one.Refused[k] = p.kinds[k].Load()
		}
		all = append(all, one)
	}
	return all
}

// refuse counts a refusal by the client's kind.
func (p *policy) refuse(key string) { p.kinds[kindOf(key)].Add(1) }
