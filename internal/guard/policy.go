package guard

import (
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/zone"
)

// The policies that the guard asks, by name. One that is deleted limits nobody.
const (
	// JoinsAddress counts joins by the address that they come from.
	JoinsAddress = "joins-address"
	// JoinsZone counts joins by the address and the zone: it limits an address's share of the zone.
	JoinsZone = "joins-zone"
	// JoinsClient counts joins by clientId.
	JoinsClient = "joins-client"
	// Challenges counts the solutions of challenges that an address shows.
	Challenges = "challenges"
	// PollsToken counts polls ahead of their time by place, and by pass how often a session is asked for it at the edge.
	PollsToken = "polls-token"
)

// Bounds of what JoinsZone, scaled to a zone, grants an address.
const (
	// fewest is how many may always join at once from one address: a family, a small office.
	fewest = 10
	// partOfWaiting: an address gets at most one partOfWaiting-th of maxWaiting at once.
	partOfWaiting = 5
	// stalledMinutes: a zone with perMinute 0 is scaled as if it let maxWaiting visitors in within this time.
	stalledMinutes = 60
)

// shareOf returns how JoinsZone is scaled to a zone. ok is false for a zone that is not shared out: it lets everybody
// in, or has perMinute 0 and no maxWaiting.
//
// Since an address gets permits as the line moves, what it holds of a full line stays
// near the rule's part of maxWaiting.
func shareOf(s zone.Settings) (by limit.Scale, ok bool) {
	if s.Mode == zone.ModeOpen {
		return limit.Scale{}, false
	}
	by = limit.Scale{By: s.PerMinute, Of: zone.DefaultPerMinute, Least: max(fewest, s.Burst/2), Most: limit.MaxLimit}
	if s.MaxWaiting > 0 {
		by.Most = max(1, s.MaxWaiting/partOfWaiting)
	}
	if s.PerMinute == 0 {
		by.By, by.Least = min(limit.MaxLimit, s.MaxWaiting/stalledMinutes), by.Most
	}
	return by, s.PerMinute > 0 || s.MaxWaiting > 0
}

// Policies returns the guard's policies as they are made when absent.
//
// An address may be a school's, an office's or a mobile network's: it may join 1,000 times at once and 10 times a second
// after that, up to 6,000 times in an hour. A clientId may join 10 times at once and 20 times a minute: an answer may be
// lost, or the app started again. In a zone with 600 a minute, an address gets half of what a window of 6 s admits at
// once, and a fifth of what the zone admits after that; in other zones in proportion (shareOf). A client that polls
// twice a second is answered, whatever it was told; one that polls ten times a second is refused. An address is never refused by
// Challenges: of one that shows more than 200 solutions at once, or one a second after that, those of others are checked first.
func Policies() []limit.Policy {
	return []limit.Policy{
		{
			Name: JoinsAddress, Key: []limit.Source{limit.SourceIP},
			Rules: []limit.Rule{
				{Algorithm: limit.TokenBucket, Limit: 600, WindowSeconds: 60, Burst: 1_000},
				{Algorithm: limit.SlidingCounter, Limit: 6_000, WindowSeconds: 3_600},
			},
			OnStoreFailure: limit.FailureLocal,
		},
		{
			Name: JoinsZone, Key: []limit.Source{limit.SourceIP},
			Rules:          []limit.Rule{{Algorithm: limit.TokenBucket, Limit: 120, WindowSeconds: 60, Burst: 30}},
			OnStoreFailure: limit.FailureLocal,
		},
		{
			Name: JoinsClient, Scope: limit.ScopeServer,
			Rules: []limit.Rule{{Algorithm: limit.TokenBucket, Limit: 20, WindowSeconds: 60, Burst: 10}},
		},
		{
			Name: Challenges, Key: []limit.Source{limit.SourceIP}, Scope: limit.ScopeServer,
			Rules: []limit.Rule{{Algorithm: limit.TokenBucket, Limit: 60, WindowSeconds: 60, Burst: 200}},
		},
		{
			Name: PollsToken, Scope: limit.ScopeServer,
			Rules: []limit.Rule{{Algorithm: limit.TokenBucket, Limit: 120, WindowSeconds: 60, Burst: 30}},
		},
	}
}
