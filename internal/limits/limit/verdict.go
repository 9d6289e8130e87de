package limit

// Quota is what is left of one rule.
type Quota struct {
	// Remaining is how many permits could be taken now.
	Remaining int64
	// ResetMillis is in how long all of them are there again.
	ResetMillis int64
}

// Verdict is the answer to one request.
type Verdict struct {
	// Allowed: the request may go on, and has been counted in every rule. If not,
	// it has been counted in none.
	Allowed bool
	// RetryMillis is when a refused request would be allowed, from now, if nobody
	// else took anything until then; exact on the store's clock. 0 if Allowed.
	RetryMillis int64
	// DelayMillis is how long an allowed request should wait to leave a
	// leaky_bucket evenly: the longest of all rules. 0 without one.
	DelayMillis int64
	// Quotas are what is left, after this request, rule by rule in the order of
	// the policy. Nil when the store was not asked and it is not known.
	Quotas []Quota
}

// Decide is what a store does with the states of a key, one a rule, at most
// MaxRules, in the order of the rules: it takes the cost, 1 to the Permits of each,
// from all or from none. now is the store's clock in milliseconds. One who looks takes nothing.
//
// A refusal leaves the states as they are; but one that was counted on a clock
// that was set back since follows it, allowed or not.
func Decide(rules []Rule, states []*State, now, cost int64, look bool) Verdict {
	v := Verdict{Quotas: make([]Quota, len(rules))}
	var views [MaxRules]view
	for i, r := range rules {
		views[i] = r.advance(states[i], now)
		v.RetryMillis = max(v.RetryMillis, r.wait(&views[i], now, cost))
	}
	v.Allowed = v.RetryMillis == 0
	for i, r := range rules {
		takes := v.Allowed && !look
		if takes {
			v.DelayMillis = max(v.DelayMillis, r.take(&views[i], now, cost))
		}
		if takes || views[i].mended {
			r.keep(states[i], &views[i])
		}
		v.Quotas[i] = r.left(&views[i], now)
	}
	return v
}

// Tightest is which rule has least left, as a share of its quota; of several, the
// first. -1 when it is not known.
func (v Verdict) Tightest(rules []Rule) int {
	least := -1
	for i, q := range v.Quotas {
		if least < 0 || q.Remaining*rules[least].Quota() < v.Quotas[least].Remaining*rules[i].Quota() {
			least = i
		}
	}
	return least
}
