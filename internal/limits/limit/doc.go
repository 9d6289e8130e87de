// Package limit is the vocabulary and the arithmetic of limits: how much one client
// may take in a span of time. It knows no stores, no clocks and no HTTP: numbers in,
// numbers out.
//
// A Policy says by what clients are told apart (its key), and what a client of each
// tier may take (its rules). A request must fit all rules of its tier, such as 100 a
// minute and 20 in 10 s, and is counted in all of them or in none. It has a cost, 1 as
// a rule. The decision is a Verdict: allowed or not, what is left, and when a refused
// request would be allowed.
//
// # The algorithms
//
// w is the rule's window, L its limit, B its burst, c the cost, and e the time since
// the window of a counter began. Times are whole milliseconds on the store's clock.
//
//	sliding_log     keeps the moment of each permit for w. Exact: at most L permits
//	                in any (t-w, t].
//	sliding_counter keeps what was taken in this window of the clock and in the one
//	                before, which fades: before*(w-e)/w + this + c <= L.
//	token_bucket    has B tokens, of which L come back in w. At most B + L*t/w in
//	                any t.
//	leaky_bucket    lets permits leave one by one, every w/L. At most B wait to
//	                leave. An allowed request is told its delay.
//	fixed_window    keeps what was taken in this window of the clock. Up to 2*L
//	                around the moment at which two windows meet.
//
// Both buckets keep one number, the debt: what has been taken and has not come back. In
// its unit a permit is w, and L come back each millisecond. So it is always a whole
// number below 2^53, which a double in Lua holds exactly.
//
// # The clock
//
// A state remembers when something was last taken; that of a counter, when the window
// of that moment began. A refusal changes no state. If the clock is behind that moment by
// at most a window, time stands still for the state: nothing is forgotten, a request that
// there is room for is allowed, and any other has to wait, in addition, until the clock
// has caught up. If the clock is further behind, it was set: the state moves to the
// clock's time with all that it holds, and fades from there. If the clock leaps
// forward, all that the state holds is that much older.
package limit
