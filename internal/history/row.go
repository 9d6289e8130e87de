package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// errRow: a row is not one of this format.
var errRow = errors.New("history: not a row")

// format is the first byte of a row. Rows of other formats are passed over.
const format = 1

// A row is flags, whole numbers as binary.AppendUvarint writes them, and the quantiles of the waits, a byte each: at most 100 bytes
// for figures below two millions.
const (
	hasBase  = 1 << iota // the totals at the beginning follow those at the end
	hasWaits             // somebody was admitted
)

// modes are the modes by their number in a row.
var modes = [...]zone.Mode{zone.ModeQueue, zone.ModeOpen, zone.ModeClosed}

// row is what one server saw of one minute of a zone.
type row struct {
	// totals are those at the end of the minute, since the zone's data began. base are those at the first look of a server that had
	// not seen the minutes before. It is nil in a row of a server that had: in those without a row nothing happened then.
	totals line.Totals
	base   *line.Totals
	// waiting and inside are the most that were seen. perMinute, maxInside and mode are those in force at the end.
	waiting, inside, perMinute, maxInside int64
	mode                                  zone.Mode
	// estimateMillis is what one who joined at the end was told.
	estimateMillis int64
	// waits are those of the admitted; nil for none.
	waits *Waits
}

// shares are those of the admitted, in percent, whose longest wait a row has.
var shares = [...]float64{10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100}

// Waits are the buckets (window.WaitBucket) of the waits that the shares of the admitted did not exceed.
type Waits [len(shares)]uint8

// waitsOf are the quantiles of counts by bucket; nil if nothing is counted.
func waitsOf(counts []int64) *Waits {
	var all, passed int64
	for _, n := range counts {
		all += n
	}
	if all == 0 {
		return nil
	}
	var out Waits
	i := 0
	for bucket, n := range counts {
		for passed += n; i < len(shares) && float64(passed) >= shares[i]/100*float64(all); i++ {
			out[i] = uint8(min(bucket, math.MaxUint8))
		}
	}
	return &out
}

// add spreads n waits over counts by bucket, as many to each part as it has of the admitted. What is left over by rounding goes to
// the median.
func (w *Waits) add(counts []int64, n int64) {
	left, before := n, 0.0
	for i, share := range shares {
		part := int64((share - before) / 100 * float64(n))
		counts[w[i]] += part
		left, before = left-part, share
	}
	counts[w[4]] += left
}

// quantile returns the upper bound of the waits of one of the shares, in milliseconds.
func (w *Waits) quantile(i int) int64 {
	_, to := window.WaitBounds(int(w[i]))
	return to
}

// appendRow appends the row.
func (r *row) appendRow(b []byte) []byte {
	flags, mode := byte(0), 0
	if r.base != nil {
		flags |= hasBase
	}
	if r.waits != nil {
		flags |= hasWaits
	}
	for i, m := range modes {
		if m == r.mode {
			mode = i
		}
	}
	b = append(b, format, flags, byte(len(line.TotalTable)))
	number := func(n int64) { b = binary.AppendUvarint(b, uint64(max(0, n))) }
	for _, n := range []int64{
		r.waiting, r.inside, r.perMinute, r.maxInside, int64(mode), r.estimateMillis,
	} {
		number(n)
	}
	for _, t := range []*line.Totals{&r.totals, r.base} {
		for i := range line.TotalTable {
			if t != nil {
				number(*line.TotalTable[i].At(t))
			}
		}
	}
	if r.waits != nil {
		b = append(b, r.waits[:]...)
	}
	return b
}

// readRow reads a row. One that a later version wrote may have more totals.
func readRow(b []byte) (r row, err error) {
	if len(b) < 3 || b[0] != format {
		return r, fmt.Errorf("%w: format %x", errRow, b[:min(1, len(b))])
	}
	flags, totals := b[1], int(b[2])
	b = b[3:]
	number := func() int64 {
		n, used := binary.Uvarint(b)
		if used <= 0 || n > math.MaxInt64 {
			err, b = errRow, nil
			return 0
		}
		b = b[used:]
		return int64(n)
	}
	r.waiting, r.inside, r.perMinute, r.maxInside = number(), number(), number(), number()
	r.mode = modes[min(number(), int64(len(modes)-1))]
	r.estimateMillis = number()
	read := func(t *line.Totals) {
		for i := range totals {
			if n := number(); i < len(line.TotalTable) {
				*line.TotalTable[i].At(t) = n
			}
		}
	}
	read(&r.totals)
	if flags&hasBase != 0 {
		r.base = &line.Totals{}
		read(r.base)
	}
	if flags&hasWaits != 0 {
		r.waits = &Waits{}
		if copy(r.waits[:], b) < len(shares) {
			err = errRow
		}
		for i, bucket := range r.waits {
			r.waits[i] = min(bucket, window.WaitBuckets-1)
		}
	}
	return r, err
}
