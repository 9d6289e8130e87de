package limiter

import (
	"sync/atomic"
)

const (
	// ways is how many refusals share a place in the table: as many as a line of the
	// processor's cache holds.
	ways = 4
	// places times ways is how many refusals are remembered, in 1 MB. When a place is full,
	// the refusal that ends first is forgotten, and the store will be asked once more.
	places = 1 << 14
	// costBits are the bits for a cost of up to limit.MaxLimit. The other 40 bits hold
	// milliseconds for 34 years; latest is the last of them.
	costBits = 24
	latest   = 1<<(64-costBits) - 1
)

// refusalCache holds refusals: hash -> until when, and from what cost on. It is a table of
// fixed size without locks. A cell has two words. Two goroutines may write it at once, and a
// third may read it half-written. So the first word is the hash combined with the second: two
// words that do not belong together give a hash that nobody asks for, apart from a chance of
// 2^-64.
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

// wait returns for how many milliseconds from now on a request of that cost is known to be
// refused: 0 if it is not known to be.
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

// refuse remembers that a request of that cost is refused until retry milliseconds after it was
// sent.
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
