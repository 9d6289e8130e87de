package limiter

import (
	"sync/atomic"
)

const (
	// ways is how many refusals share a place in the table: as many as fit into
	// a line of the processor's cache.
	ways = 4
	// places times ways is how many refusals are remembered, in 1 MB. Of more, the
	// one that ends first is forgotten: the store is asked once more.
	places = 1 << 14
	// costBits hold a cost of up to limit.MaxLimit; the other 40 bits hold
	// milliseconds for 34 years. Until then at most is remembered.
	costBits = 24
	latest   = 1<<(64-costBits) - 1
)

// memory holds refusals: hash -> until when, and from what cost. It is a table of
// fixed size without locks. A cell is two words, which may be written by two at
// once, or read half-written; so the first word is the hash combined with the
// second: a pair that does not belong together names a hash that nobody asks for,
// but by a chance of 2^-64.
type refusalCache struct {
	table []place
}

type place [ways]cell

type cell struct {
	check atomic.Uint64 // hash ^ value
	value atomic.Uint64 // until << costBits | cost
}

func newRefusalCache() *refusalCache { return &refusalCache{make([]place, places)} }

func (m *refusalCache) place(hash uint64) *place { return &m.table[hash%places] }

// wait returns for how many milliseconds from now a request of that cost is known
// to be refused: 0 if it is not.
func (m *refusalCache) wait(hash uint64, cost, now int64) int64 {
	p := m.place(hash)
	for i := range p {
		value := p[i].value.Load()
		if p[i].check.Load()^value != hash {
			continue
		}
		if until := int64(value >> costBits); until > now && cost >= int64(value&(1<<costBits-1)) {
			return until - now
		}
	}
	return 0
}

// refuse remembers that a request of that cost, sent at a moment, is refused for
// so many milliseconds.
func (m *refusalCache) refuse(hash uint64, cost, sent, retry int64) {
	value := uint64(min(sent+retry, latest))<<costBits | uint64(cost)
	p := m.place(hash)
	oldest := 0
	for i := range p {
		is := p[i].value.Load()
		if p[i].check.Load()^is == hash {
			oldest = i
			break
		}
		if is < p[oldest].value.Load() {
			oldest = i
		}
	}
	p[oldest].value.Store(value)
	p[oldest].check.Store(hash ^ value)
}
