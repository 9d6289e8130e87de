package limit

import "errors"

// ErrStoreUnavailable says that the store did not answer. It may have counted the
// request.
var ErrStoreUnavailable = errors.New("limit: store unavailable")

// Request is one question to a store.
type Request struct {
	// Policy is the policy's name, Tier the tier's. Each tier has counts of its own.
	Policy, Tier string
	// Subject is the client, as a string of at most 32 of A-Z a-z 0-9 _ -. It is made
	// from the key by a hash, so that no store knows addresses or API keys.
	Subject string
	// Part says which of the policy's shards counts the request, from 0.
	Part int64
	// Rules are decided together. They are the same for every request with the same
	// Policy and Tier, until an operator changes them. The counts of a rule stay when
	// its limit or burst changes, and are forgotten when its algorithm or window does.
	Rules []Rule
	// Cost is how many permits the request takes of each rule: at least 1, at most the
	// Permits of each rule.
	Cost int64
	// Look says that the request only asks what would be decided, and takes nothing.
	Look bool
}

// Partitions is how many partitions the keys of a store have, by the part of the store that
// keeps them. If the store fails for one key, it fails, as a rule, for all keys of that
// partition, and not for those of others.
const Partitions = 16
