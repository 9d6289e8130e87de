package embedded

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

// TestQueueIsASortedSlice does the same to a ranking and to a sorted slice. Runs of
// insertions and removals make blocks split, shrink, merge and end.
func TestQueueIsASortedSlice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var q ranking
		var all []line.Place
		arrival := rapid.Int64Range(1, 4_000)
		places := rapid.Custom(func(t *rapid.T) line.Place {
			return line.Place{ID: testID(rapid.IntRange(0, 2).Draw(t, "id")), ArrivedAtMicros: arrival.Draw(t, "arrival")}
		})
		insert := func(p line.Place) {
			if i, found := slices.BinarySearchFunc(all, p, compare); !found {
				all = slices.Insert(all, i, p)
				q.insert(record{arrived: p.ArrivedAtMicros, id: p.ID})
			}
		}
		remove := func(p line.Place) {
			i, found := slices.BinarySearchFunc(all, p, compare)
			if got := q.remove(p); got != found {
				t.Fatalf("remove %v: %t, want %t", p, got, found)
			}
			if found {
				all = slices.Delete(all, i, i+1)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) { insert(places.Draw(t, "place")) },
			"remove": func(t *rapid.T) { remove(places.Draw(t, "place")) },
			"insert many": func(t *rapid.T) {
				from, step := arrival.Draw(t, "from"), rapid.Int64Range(1, 3).Draw(t, "step")
				for i := range rapid.Int64Range(1, 3*blockSize).Draw(t, "n") {
					insert(line.Place{ID: testID(0), ArrivedAtMicros: from + i*step})
				}
			},
			"remove many": func(t *rapid.T) {
				from := rapid.IntRange(0, len(all)).Draw(t, "from")
				keep := rapid.IntRange(1, 10).Draw(t, "keep one in")
				some := all[from:min(len(all), from+rapid.IntRange(1, 3*blockSize).Draw(t, "n"))]
				for i, p := range slices.Clone(some) {
					if keep == 1 || i%keep != 0 {
						remove(p)
					}
				}
			},
			"": func(t *rapid.T) { alike(t, &q, all, arrival.Draw(t, "anywhere")) },
		})
	})
}

func testID(i int) (id line.ID) {
	binary.BigEndian.PutUint64(id[:], uint64(i))
	return id
}

func compare(a, b line.Place) int {
	return cmp.Or(cmp.Compare(a.ArrivedAtMicros, b.ArrivedAtMicros), bytes.Compare(a.ID[:], b.ID[:]))
}

// alike compares what all methods of the ranking return with the slice.
func alike(t *rapid.T, q *ranking, all []line.Place, micros int64) {
	if q.len() != len(all) {
		t.Fatalf("len %d, want %d", q.len(), len(all))
	}
	var got []line.Place
	q.ascend(0, func(r *record) bool { got = append(got, r.place()); return true })
	if !slices.Equal(got, all) {
		t.Fatalf("ascend: %v, want %v", got, all)
	}
	i, _ := slices.BinarySearchFunc(all, line.Place{ArrivedAtMicros: micros + 1}, compare)
	if n := q.upTo(micros); n != int64(i) {
		t.Fatalf("up to %d: %d, want %d", micros, n, i)
	}
	next := line.Place{}
	q.ascend(micros, func(r *record) bool { next = r.place(); return false })
	if i < len(all) && next != all[i] || i == len(all) && next != (line.Place{}) {
		t.Fatalf("the first after %d: %v", micros, next)
	}
	for _, p := range []line.Place{{ArrivedAtMicros: micros}, {ID: testID(1), ArrivedAtMicros: micros}} {
		i, found := slices.BinarySearchFunc(all, p, compare)
		if n := q.rank(p); n != int64(i) {
			t.Fatalf("rank of %v: %d, want %d", p, n, i)
		}
		if r := q.find(p); (r != nil) != found || found && r.place() != p {
			t.Fatalf("find %v: %v, want %t", p, r, found)
		}
	}
	for b, blk := range q.blocks {
		if n := len(blk.records); n == 0 || n > blockSize {
			t.Fatalf("block %d of %d holds %d", b, len(q.blocks), n)
		}
	}
	if len(all) == 0 && (q.blocks != nil || q.sums != nil) {
		t.Fatal("an empty queue holds memory")
	}
}

// TestQueueShrinks: when most of a line has left, few blocks are left.
func TestQueueShrinks(t *testing.T) {
	t.Parallel()
	var q ranking
	const n = 100 * blockSize
	for i := range int64(n) {
		q.insert(record{arrived: i + 1})
	}
	for i := range int64(n) {
		if i%20 != 0 {
			q.remove(line.Place{ArrivedAtMicros: i + 1})
		}
	}
	if got, most := len(q.blocks), n/20/(blockSize/4); got > most {
		t.Errorf("%d blocks hold %d, want at most %d", got, q.len(), most)
	}
}

// TestRecord: a record has when the visitor polled, the period, the longest included, and whether it is live.
func TestRecord(t *testing.T) {
	t.Parallel()
	const now, period = 1_795_223_373_123, window.MaxPeriodMillis
	var r record
	r.poll(now, period)
	if r.lastPoll() != now || r.due() != now+period || r.live() {
		t.Fatalf("polled at %d, due at %d, live %t", r.lastPoll(), r.due(), r.live())
	}
	r.setLive(true)
	r.poll(now+1, 250)
	if r.lastPoll() != now+1 || r.due() != now+251 || !r.live() {
		t.Fatalf("polled at %d, due at %d, live %t", r.lastPoll(), r.due(), r.live())
	}
	r.setLive(false)
	if r.lastPoll() != now+1 || r.due() != now+251 || r.live() {
		t.Fatalf("polled at %d, due at %d, live %t", r.lastPoll(), r.due(), r.live())
	}
}
