package limit

// leakyBucket keeps the debt of a token bucket, which here is what has not left yet. A request leaves when all that came
// before it has left.
type leakyBucket struct{ tokenBucket }

func (leakyBucket) permits(r Rule) int64 { return r.Burst + 1 }

func (b leakyBucket) fitted(r Rule, limit, atOnce func(int64) int64) Rule {
	r.Limit, r.Burst = limit(r.Limit), atOnce(b.permits(r))-1
	return r
}

func (b leakyBucket) take(r Rule, v view, now, cost int64) (after view, delay int64) {
	delay = v.moment - now + ceil(v.held, r.Limit)
	after, _ = b.tokenBucket.take(r, v, now, cost)
	return after, delay
}
