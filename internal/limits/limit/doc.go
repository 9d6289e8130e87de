// Package limit is the vocabulary and the arithmetic of limits: how much one
// client may take in a while. It knows no stores, no clocks and no HTTP: numbers
// in, numbers out.
//
// A Policy names who is counted together (its key) and what each tier of them may
// take (its rules). All rules of a tier are decided together, all or nothing: 100
// a minute and 20 in 10 s. A decision has a cost, 1 as a rule, and is a Verdict:
// allowed or not, what is left, and when a refused request would be allowed.
//
// # The algorithms
//
// w is the rule's window, L its limit, B its burst, c the cost; e is the time since
// a window of a counter began. Times are whole milliseconds on the store's clock.
//
//	sliding_log     the moment of each permit, for as long as w. Exact: at most L
//	                in any (t-w, t].
//	sliding_counter what was taken in this window of the clock and in the one
//	                before, which fades: before*(w-e)/w + this + c <= L.
//	token_bucket    B tokens, L come back in w. At most B + L*t/w in any t.
//	leaky_bucket    permits leave one by one, every w/L; at most B wait to. An
//	                allowed request is told its delay.
//	fixed_window    what was taken in this window of the clock. Up to 2*L around
//	                the moment where two meet.
//
// Both buckets keep one number, the debt: what has been taken and has not come
// back, in units of which a permit is w and L return a millisecond, so that all of
// it is whole numbers below 2^53, which a double in Lua holds exactly.
//
// # The clock
//
// A state remembers when something was last taken; a counter, when the window of it
// began. A refusal changes no state. When the clock is behind that moment, by a
// window at the most, time stands still for that state: nothing is forgotten, what
// there is room for is allowed, and what there is not waits, besides, until the
// clock has caught up. When it is further behind, the clock was set: the state moves
// to the clock's time with all that it holds, and begins to fade from there.
// When the clock leaps forward, what is in the state is older, as everywhere.
package limit
