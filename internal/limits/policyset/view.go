package policyset

import "github.com/openqueue/waitingroom/internal/limits/limiter"

// defaultSeconds of history are shown if it is not said.
const defaultSeconds = 60

// Stats is what GET /admin/limits/{name}/stats answers: what one server has seen of a
// policy.
type Stats struct {
	Name string `json:"name"`
	// FailingLanes is how many of the store's lanes the failure policies answer now.
	FailingLanes int `json:"failingLanes"`
	// RecentSeconds is how many seconds recent is of.
	RecentSeconds int         `json:"recentSeconds"`
	Tiers         []TierStats `json:"tiers"`
	// Busiest were refused most in the last minute or two.
	Busiest []Busy  `json:"busiest"`
	History History `json:"history"`
}

// TierStats is what became of the questions of one tier.
type TierStats struct {
	Tier string `json:"tier"`
	// Total is since the server was started.
	Total  Counts `json:"total"`
	Recent Counts `json:"recent"`
}

// Counts are how many questions had which outcome.
type Counts struct {
	Allowed           uint64 `json:"allowed"`
	Refused           uint64 `json:"refused"`
	RefusedFromMemory uint64 `json:"refusedFromMemory"`
	AllowedOpen       uint64 `json:"allowedOpen"`
	RefusedClosed     uint64 `json:"refusedClosed"`
	AllowedLocally    uint64 `json:"allowedLocally"`
	RefusedLocally    uint64 `json:"refusedLocally"`
}

// Busy is one who was refused: a hash of the key, and about how often.
type Busy struct {
	Key     string `json:"key"`
	Refused int64  `json:"refused"`
}

// History has a row a second in each column.
type History struct {
	At           []int64  `json:"at"`
	Allowed      []uint32 `json:"allowed"`
	Refused      []uint32 `json:"refused"`
	WithoutStore []uint32 `json:"withoutStore"`
}

func view(s limiter.Stats) Stats {
	v := Stats{
		Name: s.Policy.Name, FailingLanes: s.Failing, RecentSeconds: s.RecentSeconds,
		Tiers: make([]TierStats, len(s.Tiers)), Busiest: make([]Busy, len(s.Busiest)),
		History: History{
			At: make([]int64, len(s.History)), Allowed: make([]uint32, len(s.History)),
			Refused: make([]uint32, len(s.History)), WithoutStore: make([]uint32, len(s.History)),
		},
	}
	for i, t := range s.Tiers {
		v.Tiers[i] = TierStats{t.Tier, countsOf(t.Total), countsOf(t.Recent)}
	}
	for i, b := range s.Busiest {
		v.Busiest[i] = Busy(b)
	}
	for i, h := range s.History {
		v.History.At[i], v.History.Allowed[i] = h.At*1000, h.Allowed
		v.History.Refused[i], v.History.WithoutStore[i] = h.Refused, h.WithoutStore
	}
	return v
}

func countsOf(c limiter.Counts) Counts {
	return Counts{
		Allowed: c[limiter.Allowed], Refused: c[limiter.Refused], RefusedFromMemory: c[limiter.RefusedFromMemory],
		AllowedOpen: c[limiter.AllowedOpen], RefusedClosed: c[limiter.RefusedClosed],
		AllowedLocally: c[limiter.AllowedLocally], RefusedLocally: c[limiter.RefusedLocally],
	}
}
