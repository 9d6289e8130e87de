package limit

import "errors"

// ErrStoreUnavailable: the store did not decide. Whether it has counted the
// request is not known.
var ErrStoreUnavailable = errors.New("limit: store unavailable")

// Request is one question to a store.
type Request struct {
	// Policy is the policy's name, Tier the tier's: each tier counts for itself.
	Policy, Tier string
	// Subject is who asks, as an opaque string of at most 32 of A-Z a-z 0-9 _ -;
	// made from the key by a hash, so that no store knows addresses or API keys.
	Subject string
	// Part is which of the policy's shards counts it, from 0.
	Part int64
	// Rules are decided together; the same for every request with the same Policy
	// and Tier, until an operator changes them. What was counted under a rule stays
	// when its limit or burst is changed, and is forgotten when its algorithm or
	// window is.
	Rules []Rule
	// Cost is how many permits it takes of each rule: 1 or more, at most the
	// Permits of each.
	Cost int64
	// Look asks what would be decided, and takes nothing.
	Look bool
}

// Partitions is how many parts a store's keys fall in, by the part of the store that
// keeps them: what fails for one key of a partition fails, as a rule, for all of it, and
// not for the other partitions.
const Partitions = 16
