package window

import "testing"

// TestWaitBuckets: they follow each other without a gap, and each begins and
// ends where WaitBounds says.
func TestWaitBuckets(t *testing.T) {
	t.Parallel()
	end := int64(0)
	for bucket := range WaitBuckets {
		from, to := WaitBounds(bucket)
		if from != end || to <= from {
			t.Fatalf("bucket %d is from %d to %d, after one that ended at %d", bucket, from, to, end)
		}
		if width := to - from; width > 128 && 8*width > from {
			t.Errorf("bucket %d from %d is %d wide, more than an eighth", bucket, from, width)
		}
		for _, millis := range []int64{from, (from + to) / 2, to - 1} {
			if got := WaitBucket(millis); got != bucket {
				t.Errorf("%d ms are in bucket %d, want %d", millis, got, bucket)
			}
		}
		end = to
	}
	const longest = 1<<63 - 1
	for millis, want := range map[int64]int{-1: 0, 0: 0, end: WaitBuckets - 1, longest: WaitBuckets - 1} {
		if got := WaitBucket(millis); got != want {
			t.Errorf("%d ms are in bucket %d, want %d", millis, got, want)
		}
	}
	if day := WaitBucket(MaxEstimateMillis); day > WaitBuckets-32 {
		t.Errorf("a day is in bucket %d of %d", day, WaitBuckets)
	}
}

// TestWaitQuantile: within a bucket, those in it are taken to be spread evenly.
func TestWaitQuantile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		counts []int64
		q      float64
		want   int64
	}{
		"nobody":            {nil, 0.5, 0},
		"only zeros":        {make([]int64, WaitBuckets), 0.5, 0},
		"all straight in":   {[]int64{7}, 0.99, 0},
		"one, in its midst": {[]int64{0, 1}, 0.5, 192},
		"the better half":   {[]int64{5, 0, 0, 5}, 0.5, 0},
		"the other half":    {[]int64{5, 0, 0, 5}, 0.51, 384 + 128/10},
		"the last":          {[]int64{5, 0, 0, 5}, 1, 384 + 128*9/10},
	}
	for name, tt := range tests {
		if got := WaitQuantile(tt.counts, tt.q); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
