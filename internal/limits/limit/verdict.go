package limit

import "github.com/openqueue/waitingroom/internal/refusal"

// ErrStoreUnavailable says that the store did not answer. It may have counted the
// request.
var ErrStoreUnavailable = refusal.New("limit: store unavailable", refusal.StoreUnavailable)

// Request is one question to a store.
type Request struct {
	// Policy is the policy's name, Tier the tier's. Each tier has counts of its own.
	Policy, Tier string
	// Subject is the client, as a string of at most 32 of A-Z a-z 0-9 _ -. It is made
	// from the key by a hash, so that no store knows addresses or API keys.
	Subject string
	// Rules are decided together. They are the same for every request with the same
	// Policy and Tier, until an operator changes them. The counts of a rule stay when
	// its limit or burst changes, and are forgotten when its algorithm or window does.
	Rules []Rule
	// Cost is how many permits the request takes of each rule: at least 1, at most the
	// Permits of each rule.
	Cost int64
}

// Partitions is how many partitions the keys of a store have, by the part of the store that
// keeps them. If the store fails for one key, it fails, as a rule, for all keys of that
// partition, and not for those of others.
const Partitions = 16

// Quota is what is left of one rule.
type Quota struct {
	// Remaining is how many permits could be taken now.
	Remaining int64
	// ResetMillis is in how many milliseconds all of them are there again.
	ResetMillis int64
}

// Verdict is the answer to one request.
type Verdict struct {
	// Allowed says that the request may go on, and has been counted in every rule. If
	// it is false, the request has been counted in none.
	Allowed bool
	// RetryMillis is in how many milliseconds a refused request would be allowed if no
	// permit were taken until then, exact on the store's clock. 0 if Allowed.
	RetryMillis int64
	// DelayMillis is how many milliseconds an allowed request should wait, so that
	// requests leave a leaky_bucket evenly: the longest of all rules. 0 without one.
	DelayMillis int64
	// Quotas are what is left of each rule after this request, in the order of the
	// rules. Nil if that is not known, since no store was asked.
	Quotas []Quota
}

// Decide decides one request under rules, at most MaxRules, and takes the cost from all of
// them or from none. states are those of the key, one for each rule, in the same order. cost is 1
// to the Permits of each rule. now is the store's clock in Unix milliseconds.
//
// A refusal leaves the states as they are, except that a state follows a clock that was set
// back, whether the request is allowed or not.
func Decide(rules []Rule, states []*State, now, cost int64) Verdict {
	verdict := Verdict{Quotas: make([]Quota, len(rules))}
	var kinds [MaxRules]kind
	var views [MaxRules]view
	for i, r := range rules {
		kinds[i] = r.Algorithm.kind()
		views[i] = kinds[i].advance(r, *states[i], now)
		if short := kinds[i].short(r, views[i], cost); short > 0 {
			verdict.RetryMillis = max(verdict.RetryMillis, short+views[i].moment-now)
		}
	}
	verdict.Allowed = verdict.RetryMillis == 0
	for i, r := range rules {
		v := views[i]
		if verdict.Allowed {
			var delay int64
			v, delay = kinds[i].take(r, v, now, cost)
			verdict.DelayMillis = max(verdict.DelayMillis, delay)
		}
		if verdict.Allowed || v.mended {
			states[i].keep(v)
		}
		remaining, reset := kinds[i].left(r, v)
		if reset > 0 {
			reset += v.moment - now
		}
		// A lowered limit may leave less than nothing.
		verdict.Quotas[i] = Quota{Remaining: max(0, remaining), ResetMillis: reset}
	}
	return verdict
}

// Tightest is the index of the rule of which the least is left, as a share of its quota; the
// first if several have the same share, and -1 if Quotas is nil.
func (v Verdict) Tightest(rules []Rule) int {
	least := -1
	for i, q := range v.Quotas {
		if least < 0 || q.Remaining*rules[least].Quota() < v.Quotas[least].Remaining*rules[i].Quota() {
			least = i
		}
	}
	return least
}
