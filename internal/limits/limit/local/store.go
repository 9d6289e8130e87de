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
	"slices"
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

// CountersOptions configure New.
type CountersOptions struct {
	// Now, when not nil, is the clock instead of this process's, which is never
	// set: for tests.
	Now func() time.Time
	// MaxKeys is how many keys are kept, one for each rule of each subject. A log
	// takes as many more as have room in its memory: one for each 16 permits. Past
	// that, the keys that are nearest to being empty are forgotten. 0: a million.
	MaxKeys int
}

// Counters are what keys have taken. All methods are safe for concurrent use.
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
		// What has passed is measured, whatever the wall clock is set to meanwhile.
		s.now = func() int64 { return start.UnixMilli() + time.Since(start).Milliseconds() }
	}
	for i := range s.shards {
		s.shards[i].most, s.shards[i].now = max(1, o.MaxKeys/n), s.now
	}
	return s
}

// Close forgets everything. The store can be used on, and closed again.
func (s *Counters) Close() {
	for i := range s.shards {
		s.shards[i].clear()
	}
}

// Keys is how many keys are kept.
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

// Partition is 0: there is no part of the process that fails alone.
func (s *Counters) Partition(limit.Request) int { return 0 }

// id is a key: 128 bits of a hash whose seeds nobody knows, so that nobody can
// choose subjects that share one.
type id [2]uint64

// key is the id of all that a request counts under, but for the rule.
func (s *Counters) key(q limit.Request) (key id) {
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
	key[1] += uint64(r.WindowSeconds)<<8 | uint64(slices.Index(limit.Algorithms, r.Algorithm))
	return key
}
