package split

import "slices"

// queue is what a part says of its live released visitors: how many they are,
// and the arrivals of a few at even distances, the first and the last among
// them. Between those, arrivals are taken to be evenly spread.
type queue struct {
	n     int64
	knots []int64
}

// knots is how many arrivals a report names. Twice as many win a tenth of a
// percent of capacity with 64 parts.
const knots = 8

// queueOf describes visitors in order of arrival.
func queueOf(live []*visitor) queue {
	q := queue{n: int64(len(live))}
	if q.n == 0 {
		return q
	}
	for i := range knots {
		q.knots = append(q.knots, live[i*(len(live)-1)/(knots-1)].arrived)
	}
	return q
}

// upto is how many arrived by that time.
func (q queue) upto(t float64) float64 {
	if q.n == 0 || t < float64(q.knots[0]) {
		return 0
	}
	i, _ := slices.BinarySearchFunc(q.knots, t, func(k int64, t float64) int {
		if float64(k) <= t {
			return -1
		}
		return 1
	})
	if i == len(q.knots) {
		return float64(q.n)
	}
	from, to := float64(q.knots[i-1]), float64(q.knots[i])
	return 1 + float64(q.n-1)*(float64(i-1)+(t-from)/(to-from))/float64(len(q.knots)-1)
}

// share is how much of n is for a part, when the oldest of all that wait come
// first: how many of its visitors came by the time by which n came to all.
func share(parts []lent, part int, n int64) int64 {
	q := parts[part].queue
	if n <= 0 || q.n == 0 {
		return 0
	}
	var all int64
	lo, hi := float64(q.knots[0])-1, float64(q.knots[len(q.knots)-1])
	for i := range parts {
		all += parts[i].queue.n
	}
	if all <= n {
		return q.n
	}
	const precise = .01 // microseconds
	for hi-lo > precise {
		t, sum := (lo+hi)/2, 0.
		for i := range parts {
			sum += parts[i].queue.upto(t)
		}
		if sum <= float64(n) {
			lo = t
		} else {
			hi = t
		}
	}
	return int64(q.upto(hi) + .5)
}
