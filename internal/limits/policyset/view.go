package policyset

import "github.com/openqueue/waitingroom/internal/limits/limiter"

// defaultSeconds of history are shown if it is not said.
const defaultSeconds = 60

// statsView is what GET /admin/limits/{name}/stats answers.
type statsView struct {
	Name string `json:"name"`
	// Failing is how many of the store's partitions the failure policies answer now.
	Failing int `json:"failingPartitions"`
	// RecentSeconds is how many seconds recent is of.
	RecentSeconds int         `json:"recentSeconds"`
	Tiers         []tierView  `json:"tiers"`
	HeavyHitters  []busyView  `json:"heavyHitters"`
	History       historyView `json:"history"`
}

type tierView struct {
	Tier   string     `json:"tier"`
	Total  countsView `json:"total"`
	Recent countsView `json:"recent"`
}

type countsView struct {
	Allowed           uint64 `json:"allowed"`
	Refused           uint64 `json:"refused"`
	RefusedFromMemory uint64 `json:"refusedFromMemory"`
	AllowedOpen       uint64 `json:"allowedOpen"`
	RefusedClosed     uint64 `json:"refusedClosed"`
	AllowedLocally    uint64 `json:"allowedLocally"`
	RefusedLocally    uint64 `json:"refusedLocally"`
}

type busyView struct {
	Key     string `json:"key"`
	Refused int64  `json:"refused"`
}

// historyView has a row a second in each column.
type historyView struct {
	At           []int64  `json:"at"`
	Allowed      []uint32 `json:"allowed"`
	Refused      []uint32 `json:"refused"`
	WithoutStore []uint32 `json:"withoutStore"`
}

func view(s limiter.Stats) statsView {
	v := statsView{
		Name: s.Policy.Name, Failing: s.Failing, RecentSeconds: s.RecentSeconds,
		Tiers: make([]tierView, len(s.Tiers)), HeavyHitters: make([]busyView, len(s.HeavyHitters)),
		History: historyView{
			At: make([]int64, len(s.History)), Allowed: make([]uint32, len(s.History)),
			Refused: make([]uint32, len(s.History)), WithoutStore: make([]uint32, len(s.History)),
		},
	}
	for i, t := range s.Tiers {
		v.Tiers[i] = tierView{t.Tier, countsOf(t.Total), countsOf(t.Recent)}
	}
	for i, b := range s.HeavyHitters {
		v.HeavyHitters[i] = busyView(b)
	}
	for i, h := range s.History {
		v.History.At[i], v.History.Allowed[i] = h.At*1000, h.Allowed
		v.History.Refused[i], v.History.WithoutStore[i] = h.Refused, h.WithoutStore
	}
	return v
}

func countsOf(c limiter.Counts) countsView {
	return countsView{
		Allowed: c[limiter.Allowed], Refused: c[limiter.Refused], RefusedFromMemory: c[limiter.RefusedFromMemory],
		AllowedOpen: c[limiter.AllowedOpen], RefusedClosed: c[limiter.RefusedClosed],
		AllowedLocally: c[limiter.AllowedLocally], RefusedLocally: c[limiter.RefusedLocally],
	}
}
