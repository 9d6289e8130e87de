package limit

// Algorithm says how a rule counts: see the package.
type Algorithm string

// The algorithms.
const (
	SlidingLog     Algorithm = "sliding_log"
	SlidingCounter Algorithm = "sliding_counter"
	TokenBucket    Algorithm = "token_bucket"
	LeakyBucket    Algorithm = "leaky_bucket"
	FixedWindow    Algorithm = "fixed_window"
)

// Algorithms are all algorithms, the exact one first.
var Algorithms = []Algorithm{SlidingLog, SlidingCounter, TokenBucket, LeakyBucket, FixedWindow}

// kind is what an algorithm is: the arithmetic of its rules. lua/limits/include has advance, short, take and left under
// the same names. A property test compares both with a plain model.
type kind interface {
	// maxLimit is the highest limit of a rule. burst says whether a rule has a burst.
	maxLimit() int64
	burst() bool
	// permits is the most permits that may be taken at once.
	permits(r Rule) int64
	// fitted returns the rule with limit applied to its rate, and atOnce to what may be taken at once. If that is one figure,
	// atOnce is applied to it.
	fitted(r Rule, limit, atOnce func(int64) int64) Rule

	// advance returns the state as it is at now.
	advance(r Rule, s State, now int64) view
	// short is in how many milliseconds after the view's moment the cost would be allowed: 0 if it is now.
	short(r Rule, v view, cost int64) int64
	// take takes the permits. short must have returned 0. delay is how many milliseconds after now the request should go
	// on.
	take(r Rule, v view, now, cost int64) (after view, delay int64)
	// left is how many permits are left, which may be negative, and in how many milliseconds after the view's moment all of
	// them are there again if none is taken.
	left(r Rule, v view) (remaining, reset int64)
}

// kind returns that of a fixed window for an algorithm that there is not, so that a rule can be looked at before it is
// validated.
func (a Algorithm) kind() kind {
	switch a {
	case SlidingLog:
		return slidingLog{}
	case SlidingCounter:
		return slidingCounter{}
	case TokenBucket:
		return tokenBucket{}
	case LeakyBucket:
		return leakyBucket{}
	case FixedWindow:
	}
	return fixedWindow{}
}

// HasBurst reports whether rules of the algorithm have a burst.
func (a Algorithm) HasBurst() bool { return a.kind().burst() }

// MaxLimit is the highest limit of a rule of the algorithm.
func (a Algorithm) MaxLimit() int64 { return a.kind().maxLimit() }

// ceil is a/b, rounded up. a must not be negative.
func ceil(a, b int64) int64 { return (a + b - 1) / b }
