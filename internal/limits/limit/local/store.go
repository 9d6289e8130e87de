// Package local counts limits in the memory of this process: for one server, for
// policies that each server counts for itself, and for while the shared store is
// away.
//
// Keys are kept in shards, each under a lock of its own. A shard is a slab of slots,
// an index of it, and a heap of when each slot has nothing left to remember. That is
// when it goes: with the next decision in its shard, else by a timer, which is armed
// while there is something. Memory is bounded: when the shard is full, what would
// go first makes room. A refusal adds nothing.
package local

import (
	"context"
	"hash/maphash"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

const (
	// defaultMaxKeys is a million, which take some 120 MB: what a flood from as many
	// addresses may cost.
	defaultMaxKeys = 1_000_000
	// maxShards is how many locks there are: more than cores that wait for them.
	maxShards = 64
	// minShardKeys is how many keys a shard is worth having for.
	minShardKeys = 1024
)

// Options of a store.
type Options struct {
	// Now, when not nil, is the clock instead of this process's, which is never
	// set: for tests.
	Now func() time.Time
	// MaxKeys is how many keys are kept, one for each rule of each subject. A log
	// takes as many more as have room in its memory: one for each 16 permits. Past
	// that, the keys that are nearest to being empty are forgotten. 0: a million.
	MaxKeys int
}

// Store is the store. All methods are safe for concurrent use.
type Store struct {
	now    func() int64 // Unix milliseconds
	seeds  [2]maphash.Seed
	shards []shard
}

// New makes a store.
func New(o Options) *Store {
	if o.MaxKeys <= 0 {
		o.MaxKeys = defaultMaxKeys
	}
	n := 1
	for n < maxShards && o.MaxKeys/(2*n) >= minShardKeys {
		n *= 2
	}
	s := &Store{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, shards: make([]shard, n)}
	if o.Now != nil {
		s.now = func() int64 { return o.Now().UnixMilli() }
	} else {
		start := time.Now()
		// What has passed is measured, whatever the wall clock is set to meanwhile.
		s.now = func() int64 { return start.UnixMilli() + time.Since(start).Milliseconds() }
	}
	for i := range s.shards {
		s.shards[i].most, s.shards[i].now = max(1, o.MaxKeys/n), s.now
	}
	return s
}

// Close forgets everything. The store can be used on, and closed again.
func (s *Store) Close() {
	for i := range s.shards {
		s.shards[i].clear()
	}
}

// Keys is how many keys are kept.
func (s *Store) Keys() int {
	n := 0
	for i := range s.shards {
		n += s.shards[i].len()
	}
	return n
}

// Allow decides a request, all rules together. It returns an error only if the
// context is done.
func (s *Store) Allow(ctx context.Context, q limit.Request) (limit.Verdict, error) {
	if err := ctx.Err(); err != nil {
		return limit.Verdict{}, err
	}
	key := s.key(q)
	return s.shards[key[0]%uint64(len(s.shards))].take(key, q), nil
}

// Lane is 0: there is no part of the process that fails alone.
func (s *Store) Lane(limit.Request) int { return 0 }

// id is a key: 128 bits of a hash whose seeds nobody knows, so that nobody can
// choose subjects that share one.
type id [2]uint64

// key is the id of all that a request counts under, but for the rule.
func (s *Store) key(q limit.Request) (key id) {
	for i, seed := range s.seeds {
		var h maphash.Hash
		h.SetSeed(seed)
		for _, text := range [...]string{q.Policy, q.Tier, q.Subject} {
			_, _ = h.WriteString(text)
			_ = h.WriteByte(0)
		}
		_ = h.WriteByte(byte(q.Part))
		key[i] = h.Sum64()
	}
	return key
}

// of is the id of the key under one rule: what was counted stays when the rule's
// limit or burst is changed, and is another key when its algorithm or window is.
func (key id) of(r limit.Rule) id {
	for i, a := range limit.Algorithms {
		if a == r.Algorithm {
			key[1] += uint64(r.WindowSeconds)<<8 | uint64(i)
		}
	}
	return key
}
