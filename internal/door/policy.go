package door

import "github.com/openqueue/waitingroom/internal/limit"

// The policies that the door asks, by name. One that is deleted limits nobody.
const (
	// JoinsAddress counts joins by the address that they come from.
	JoinsAddress = "joins-address"
	// JoinsClient counts joins by clientId.
	JoinsClient = "joins-client"
	// PollsToken counts polls ahead of their time by place.
	PollsToken = "polls-token"
)

// Policies returns the door's policies as they are made when absent.
//
// An address may be a school's, an office's or a mobile network's: 1,000 join at
// once, and 10 a second after that, up to 6,000 in an hour. Who repeats a join, for
// want of an answer or because the app was started again, does so 10 times at once
// and 20 times a minute. A client that polls twice a second whatever it is told is
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
			Name: JoinsClient, Scope: limit.ScopeServer,
			Rules: []limit.Rule{{Algorithm: limit.TokenBucket, Limit: 20, WindowSeconds: 60, Burst: 10}},
		},
		{
			Name: PollsToken, Scope: limit.ScopeServer,
			Rules: []limit.Rule{{Algorithm: limit.TokenBucket, Limit: 120, WindowSeconds: 60, Burst: 30}},
		},
	}
}
