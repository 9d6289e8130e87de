package guard

import (
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/zone"
)

// The policies that the guard asks, by name. One that is deleted limits nobody.
const (
	// JoinsAddress counts joins by the address that they come from.
	JoinsAddress = "joins-address"
	// JoinsZone counts joins by the address and the zone: an address's share of it.
	JoinsZone = "joins-zone"
	// JoinsClient counts joins by clientId.
	JoinsClient = "joins-client"
	// PollsToken counts polls ahead of their time by place.
	PollsToken = "polls-token"
)

// What an address may have of a zone besides the rules of JoinsZone.
const (
	// fewest join at once whatever the zone's limit: a family, a small office.
	fewest = 10
	// partOfWaiting: an address gets a fifth of maxWaiting at once, at most.
	partOfWaiting = 5
	// stalledMinutes: a zone that holds everybody is taken for one that lets all its
	// maxWaiting in within an hour.
	stalledMinutes = 60
)

// shareOf fits JoinsZone to a zone. It is not ok for a zone that has nothing to have a
// share of: one that lets everybody in, or has neither a limit nor a bound.
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
// An address may be a school's, an office's or a mobile network's: 1,000 join at
// once, and 10 a second after that, up to 6,000 in an hour. Who repeats a join, for
// want of an answer or because the app was started again, does so 10 times at once
// and 20 times a minute. Of a zone that lets 600 in a minute, an address gets half of
// what a window of 6 s lets in at once, and a fifth of what it lets in after that; of
// others in proportion (shareOf). A client that polls twice a second whatever it is told is
// answered, one that polls ten times a second is told to stop.
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
			Name: PollsToken, Scope: limit.ScopeServer,
			Rules: []limit.Rule{{Algorithm: limit.TokenBucket, Limit: 120, WindowSeconds: 60, Burst: 30}},
		},
	}
}
