package window

import (
	"math"
	"math/bits"
)

const (
	// waitUnitMillis is the width of the narrowest bucket of waits: about half of MinAppointmentMillis, and so about
	// the shortest period that visitors are told.
	waitUnitMillis = 128
	// waitSteps is how many buckets an octave has.
	waitSteps = 8
	// WaitBuckets is how many buckets there are. The last one begins at 23
	// days and holds all that is longer.
	WaitBuckets = 176
)

// WaitBucket is the bucket, 0..WaitBuckets-1, that counts a wait of so many milliseconds. The buckets are log-linear:
// 128 ms wide up to 2,048 ms, then eight to an octave. So none but the first eight is wider than an eighth of where it
// begins. A negative wait counts as 0.
func WaitBucket(millis int64) int {
	units := uint64(max(0, millis)) / waitUnitMillis
	shift := max(0, bits.Len64(units)-4)
	return min(shift*waitSteps+int(units>>shift), WaitBuckets-1)
}

// WaitBounds are the shortest wait that a bucket counts and the shortest that it no longer counts, in milliseconds. The
// last bucket has no end; the bound returned makes it as wide as the others of its octave.
func WaitBounds(bucket int) (from, to int64) {
	shift := max(0, bucket/waitSteps-1)
	units := int64(bucket - shift*waitSteps)
	return units * waitUnitMillis << shift, (units + 1) * waitUnitMillis << shift
}

// WaitQuantile is the wait, in milliseconds, that a share q (0..1) of the counted waits did not exceed; counts is by
// bucket. Waits are taken to be spread evenly within a bucket, so the result is off by less than the bucket's width:
// 128 ms, or an eighth of the true wait if that is more. It is 0 for waits in the first bucket, and for no counts.
func WaitQuantile(counts []int64, q float64) int64 {
	var all int64
	for _, n := range counts {
		all += n
	}
	// The k-th of all in order, 1 for the first.
	k := min(max(int64(math.Ceil(q*float64(all))), 1), all)
	for bucket, n := range counts {
		if k > n {
			k -= n
			continue
		}
		if bucket == 0 || n == 0 {
			return 0
		}
		from, to := WaitBounds(bucket)
		return from + (to-from)*(2*k-1)/(2*n)
	}
	return 0
}
