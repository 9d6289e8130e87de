package embedded

import (
	"bytes"
	"math/bits"
	"slices"
	"sort"

	"github.com/openqueue/waitingroom/internal/line"
)

// record is one waiting visitor: 24 bytes. It packs when the visitor last
// polled (Unix milliseconds, 47 bits), whether it counts as live (1 bit), and
// the period it was told (16 bits, milliseconds: up to window.MaxPeriodMillis).
type record struct {
	arrived int64
	id      line.ID
	seen    uint64
}

const (
	liveBit     = 1 << 16
	periodMask  = liveBit - 1
	polledShift = 17
)

func (r *record) lastPoll() int64 { return int64(r.seen >> polledShift) }
func (r *record) period() int64   { return int64(r.seen & periodMask) }
func (r *record) due() int64      { return r.lastPoll() + r.period() }
func (r *record) live() bool      { return r.seen&liveBit != 0 }
func (r *record) setLive(on bool) {
	r.seen &^= liveBit
	if on {
		r.seen |= liveBit
	}
}

func (r *record) poll(now, period int64) {
	r.seen = uint64(now)<<polledShift | r.seen&liveBit | uint64(period)
}

func (r *record) place() line.Place { return line.Place{ID: r.id, ArrivedAtMicros: r.arrived} }

// before orders by arrival, then by id, as a sorted set of Redis does.
func (r *record) before(p line.Place) bool {
	if r.arrived != p.ArrivedAtMicros {
		return r.arrived < p.ArrivedAtMicros
	}
	return bytes.Compare(r.id[:], p.ID[:]) < 0
}

// ranking keeps records in order of arrival and knows everybody's rank.
//
// The records lie in blocks of at most blockSize, so that it needs little more
// than 24 bytes a visitor. A Fenwick tree over the blocks' lengths gives ranks.
// Find, rank and remove are O(log n + blockSize). An insertion at the end, as a
// newcomer makes it, is O(1) amortised. One in the middle may split a block.
type ranking struct {
	blocks []*block
	// sums is a Fenwick tree over len(blocks[i].records).
	sums []int32
	n    int
}

// blockSize bounds the copying that a removal does to 12 KB. Measured at a
// million waiting, 128 and 512 cost the same within noise; 512 has fewer blocks.
const blockSize = 512

type block struct {
	records []record
}

func (q *ranking) len() int { return q.n }

// first returns the record with the earliest arrival, or nil.
func (q *ranking) first() *record {
	if q.n == 0 {
		return nil
	}
	return &q.blocks[0].records[0]
}

// find returns the record of the place, or nil.
func (q *ranking) find(p line.Place) *record {
	_, _, r := q.locate(p)
	return r
}

// locate returns where the place is or would be: a block and an index within it. r is its
// record, or nil if it is not in.
func (q *ranking) locate(p line.Place) (b, i int, r *record) {
	// The first block whose last record is not before p.
	b = sort.Search(len(q.blocks), func(b int) bool {
		rs := q.blocks[b].records
		return !rs[len(rs)-1].before(p)
	})
	if b == len(q.blocks) {
		return b, 0, nil
	}
	rs := q.blocks[b].records
	i = sort.Search(len(rs), func(i int) bool { return !rs[i].before(p) })
	if rs[i].arrived == p.ArrivedAtMicros && rs[i].id == p.ID {
		r = &rs[i]
	}
	return b, i, r
}

// rank counts the records before the place, whether it is in or not.
func (q *ranking) rank(p line.Place) int64 {
	b, i, _ := q.locate(p)
	return int64(q.before(b)) + int64(i)
}

// at returns the record with rank records before it. rank must be less than len.
func (q *ranking) at(rank int64) *record {
	b, left := 0, int32(rank)
	for step := 1 << bits.Len(uint(len(q.sums))); step > 0; step >>= 1 {
		if b+step <= len(q.sums) && q.sums[b+step-1] <= left {
			b += step
			left -= q.sums[b-1]
		}
	}
	return &q.blocks[b].records[left]
}

// upTo counts the records that arrived at or before the time.
func (q *ranking) upTo(micros int64) int64 {
	return q.rank(line.Place{ArrivedAtMicros: micros + 1})
}

// insert adds a record that is not in yet.
func (q *ranking) insert(r record) {
	b, i, _ := q.locate(r.place())
	q.n++
	if b == len(q.blocks) { // after all others
		if b == 0 || len(q.blocks[b-1].records) == blockSize {
			q.blocks = append(q.blocks, &block{records: make([]record, 0, q.firstCap())})
			q.rebuild()
			b++
		}
		b, i = b-1, len(q.blocks[b-1].records)
	} else if full := q.blocks[b]; len(full.records) == blockSize {
		const half = blockSize / 2
		right := append(make([]record, 0, blockSize), full.records[half:]...)
		full.records = full.records[:half]
		q.blocks = slices.Insert(q.blocks, b+1, &block{records: right})
		q.rebuild()
		if i > half {
			b, i = b+1, i-half
		}
	}
	q.blocks[b].records = slices.Insert(q.blocks[b].records, i, r)
	q.add(b, 1)
}

// firstCap is the capacity of a new block: small for the first, so that a quiet zone needs
// little memory, and else a whole block.
func (q *ranking) firstCap() int {
	if len(q.blocks) == 0 {
		return 8
	}
	return blockSize
}

// remove takes the place out, and reports whether it was in.
func (q *ranking) remove(p line.Place) bool {
	b, i, r := q.locate(p)
	if r == nil {
		return false
	}
	blk := q.blocks[b]
	blk.records = slices.Delete(blk.records, i, i+1)
	q.n--
	q.add(b, -1)
	switch n := len(blk.records); {
	case n == 0:
		q.drop(b)
	case n < blockSize/4 && !q.join(b) && b > 0:
		q.join(b - 1)
	}
	return true
}

// join makes one block of b and the next one if both are sparse, so that a line most of
// which has left gives its memory back. It reports whether it did.
func (q *ranking) join(b int) bool {
	if b+1 == len(q.blocks) {
		return false
	}
	left, right := q.blocks[b], q.blocks[b+1]
	if len(left.records)+len(right.records) > blockSize*3/4 {
		return false
	}
	left.records = append(left.records, right.records...)
	q.drop(b + 1)
	return true
}

func (q *ranking) drop(b int) {
	if q.blocks = slices.Delete(q.blocks, b, b+1); len(q.blocks) == 0 {
		q.blocks, q.sums = nil, nil
	}
	q.rebuild()
}

// ascend calls yield for the records after the time, in order, until it
// returns false. The records may be changed in place, not added or removed.
func (q *ranking) ascend(afterMicros int64, yield func(*record) bool) {
	b, i, _ := q.locate(line.Place{ArrivedAtMicros: afterMicros + 1})
	for ; b < len(q.blocks); b, i = b+1, 0 {
		rs := q.blocks[b].records
		for ; i < len(rs); i++ {
			if !yield(&rs[i]) {
				return
			}
		}
	}
}

// before returns the number of records in blocks[:b].
func (q *ranking) before(b int) (sum int32) {
	for ; b > 0; b &= b - 1 {
		sum += q.sums[b-1]
	}
	return sum
}

func (q *ranking) add(b int, d int32) {
	for b++; b <= len(q.sums); b += b & -b {
		q.sums[b-1] += d
	}
}

// rebuild makes the Fenwick tree anew. It takes some microseconds for a million records,
// and is needed once in hundreds of insertions or removals.
func (q *ranking) rebuild() {
	q.sums = q.sums[:0]
	for i := range q.blocks {
		q.sums = append(q.sums, int32(len(q.blocks[i].records)))
	}
	for b := 1; b <= len(q.sums); b++ {
		if up := b + b&-b; up <= len(q.sums) {
			q.sums[up-1] += q.sums[b-1]
		}
	}
}
