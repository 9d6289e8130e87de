package policyset

import "github.com/openqueue/waitingroom/internal/limits/limiter"

// defaultSeconds is how many seconds of history are shown by default.
const defaultSeconds = 60

// Stats is the answer of GET /admin/limits/{name}/stats: what this server has seen of a
// policy.
type Stats struct {
	Name string `json:"name"`
	// Failing is for how many of the store's partitions the failure policies answer now.
	Failing int `json:"failingPartitions"`
	// RecentSeconds is how many seconds the counts in recent have: up to 60.
	RecentSeconds int                   `json:"recentSeconds"`
	Tiers         []limiter.TierStats   `json:"tiers"`
	HeavyHitters  []limiter.HeavyHitter `json:"heavyHitters"`
	History       History               `json:"history"`
}

// History has one value for each second in each column, the oldest first. At is Unix milliseconds.
type History struct {
	At           []int64  `json:"at"`
	Allowed      []uint32 `json:"allowed"`
	Refused      []uint32 `json:"refused"`
	WithoutStore []uint32 `json:"withoutStore"`
}

func view(s limiter.Stats) Stats {
	n := len(s.History)
	h := History{make([]int64, n), make([]uint32, n), make([]uint32, n), make([]uint32, n)}
	for i, second := range s.History {
		h.At[i], h.Allowed[i] = second.At*1000, second.Allowed
		h.Refused[i], h.WithoutStore[i] = second.Refused, second.WithoutStore
	}
	return Stats{s.Policy.Name, s.Failing, s.RecentSeconds, s.Tiers, s.HeavyHitters, h}
}
