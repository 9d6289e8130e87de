// Package local counts limits in the memory of this process. It is used for a single
// server, for policies that each server counts for itself, and while the shared store
// is away.
//
// Keys are kept in shards, each under a lock of its own, and with a timer while it has keys. Keys that
// have nothing left to remember are removed within seconds. Memory is bounded: when a shard is full, a new key
// takes the place of any other. A refusal adds no key.
package local

import (
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

const (
	// defaultMaxKeys is a million keys, which take some 130 MB: a flood from as many
	// addresses may cost that much.
	defaultMaxKeys = 1_000_000
	// maxShards is the most shards, and so locks: more than there are cores to wait for them.
	maxShards = 64
	// minShardKeys is how many keys a shard has room for at least, if there is more than one.
	minShardKeys = 1024
)

// CountersOptions configure New.
type CountersOptions struct {
	// Now is the clock, for tests. It defaults to the clock of this process, which nobody
	// can set.
	Now func() time.Time
	// MaxKeys is how many keys are kept, one for each rule of each subject. A log counts as
	// one key more for each 16 permits that it has room for. When there are more, any
	// are forgotten. 0: a million.
	MaxKeys int
}

// Counters keeps what keys have taken. All methods are safe for concurrent use.
type Counters struct {
	now    func() int64 // Unix milliseconds
	seeds  [2]maphash.Seed
	shards []shard
}

// New makes a store.
func New(o CountersOptions) *Counters {
	if o.MaxKeys <= 0 {
		o.MaxKeys = defaultMaxKeys
	}
	n := 1
	for n < maxShards && o.MaxKeys/(2*n) >= minShardKeys {
		n *= 2
	}
	s := &Counters{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, shards: make([]shard, n)}
	if o.Now != nil {
		s.now = func() int64 { return o.Now().UnixMilli() }
	} else {
		start := time.Now()
		// time.Since uses the monotonic clock, so it does not matter if the wall clock is set.
		s.now = func() int64 { return start.UnixMilli() + time.Since(start).Milliseconds() }
	}
	for i := range s.shards {
		s.shards[i].most, s.shards[i].now = max(1, o.MaxKeys/n), s.now
	}
	return s
}

// Close forgets all keys. The store can still be used afterwards, and closed again.
func (s *Counters) Close() {
	for i := range s.shards {
		s.shards[i].clear()
	}
}

// Keys returns how many keys are kept.
func (s *Counters) Keys() int {
	n := 0
	for i := range s.shards {
		n += s.shards[i].len()
	}
	return n
}

// Allow decides a request, all rules together. It returns an error only if the
// context is done.
func (s *Counters) Allow(ctx context.Context, q limit.Request) (limit.Verdict, error) {
	if err := ctx.Err(); err != nil {
		return limit.Verdict{}, err
	}
	key := s.key(q)
	return s.shards[key[0]%uint64(len(s.shards))].take(key, q), nil
}

// Partition returns 0: no part of the process fails alone.
func (s *Counters) Partition(limit.Request) int { return 0 }

// id is a key: 128 bits of a hash with secret seeds, so that nobody can choose subjects that
// share a key.
type id [2]uint64

// key returns the id of policy, tier and subject of a request.
func (s *Counters) key(q limit.Request) (key id) {
	for i, seed := range s.seeds {
		var h maphash.Hash
		h.SetSeed(seed)
		for _, text := range [...]string{q.Policy, q.Tier, q.Subject} {
			_, _ = h.WriteString(text)
			_ = h.WriteByte(0)
		}
		key[i] = h.Sum64()
	}
	return key
}

// of returns the id of the key under one rule. It depends on the rule's algorithm and window, not
// on its limit and burst: counts stay when only the latter change.
func (key id) of(r limit.Rule) id {
	key[1] += uint64(r.WindowSeconds)<<8 | uint64(slices.Index(limit.Algorithms, r.Algorithm))
	return key
}
