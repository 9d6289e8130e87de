package line

import (
	"strings"
	"unicode"
)

// Totals count what happened in a zone since its data began. TotalTable has the name of each.
type Totals struct {
	Joined   int64 `json:"joined"`
	Admitted int64 `json:"admitted"`
	Left     int64 `json:"left"`
	Swept    int64 `json:"swept"`
	Restored int64 `json:"restored"`
	// Polls counts the polls that found a place: those answered Waiting or Admitted.
	Polls int64 `json:"polls"`
	// SetAside counts those of Swept whose place was set aside, and Returned those who came back to such a place.
	SetAside int64 `json:"setAside"`
	Returned int64 `json:"returned"`
	// Unused counts admissions whose pass was not used while it was good, in a zone with a cap.
	Unused int64 `json:"unused"`
}

// Total is one of the Totals.
type Total struct {
	// Name is the total's name in JSON.
	Name string
	At   func(*Totals) *int64
	// Words and Note say on the command line what the total counts.
	Words, Note string
	// Help is the text of its metric and of the API's description.
	Help string
	// Metric says that it is one: queue_zone_<name>_total.
	Metric bool
}

// Snake returns the name in a zone's hash in Redis, and in metrics: queue_zone_<name>_total.
func (x Total) Snake() string {
	var b strings.Builder
	for _, r := range x.Name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// TotalTable has all totals, in the order of the Redis store's replies (TOTALS in its zone.lua), which is also the order
// in which they are shown.
var TotalTable = []Total{
	{Name: "joined", At: func(t *Totals) *int64 { return &t.Joined }, Words: "joined", Help: "Places taken."},
	{
		Name: "admitted", At: func(t *Totals) *int64 { return &t.Admitted }, Words: "admitted", Metric: true,
		Help: "Visitors admitted, as the store counts them; the same on every server.",
	},
	{
		Name: "left", At: func(t *Totals) *int64 { return &t.Left }, Words: "left", Metric: true,
		Help: "Visitors who gave their place up, as the store counts them.",
	},
	{
		Name: "swept", At: func(t *Totals) *int64 { return &t.Swept }, Words: "swept", Metric: true,
		Help: "Visitors removed because they were silent, as the store counts them.",
	},
	{
		Name: "restored", At: func(t *Totals) *int64 { return &t.Restored }, Words: "restored", Note: "put back after a loss",
		Help: "Places that the store had lost and has back.",
	},
	{
		Name: "polls", At: func(t *Totals) *int64 { return &t.Polls }, Words: "polls",
		Help: "Polls that found a place: still waiting, or admitted.",
	},
	{
		Name: "setAside", At: func(t *Totals) *int64 { return &t.SetAside }, Words: "set aside", Note: "swept, and the place kept", Metric: true,
		Help: "Swept visitors whose place was set aside. The other swept visitors have lost theirs.",
	},
	{
		Name: "returned", At: func(t *Totals) *int64 { return &t.Returned }, Words: "returned", Note: "to a place set aside", Metric: true,
		Help: "Visitors who came back to a place that was set aside.",
	},
	{
		Name: "unused", At: func(t *Totals) *int64 { return &t.Unused }, Words: "unused", Note: "admitted, and never came", Metric: true,
		Help: "Admissions whose pass was not used while it was good, in zones with a cap.",
	},
}

// Plus returns t plus what happened between the readings was and now. If a total fell between them, the store began
// anew: that total is then returned as it is in t.
func (t Totals) Plus(was, now Totals) Totals {
	for _, x := range TotalTable {
		*x.At(&t) += max(0, *x.At(&now)-*x.At(&was))
	}
	return t
}
