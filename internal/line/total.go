package line

import (
	"strings"
	"unicode"
)

// Totals count what happened in a zone since its data began. TotalTable says of each
// what it is called.
type Totals struct {
	Joined   int64 `json:"joined"`
	Admitted int64 `json:"admitted"`
	Left     int64 `json:"left"`
	Swept    int64 `json:"swept"`
	Restored int64 `json:"restored"`
	// Polls are those that found a place: answered Waiting or Admitted.
	Polls int64 `json:"polls"`
}

// Total is one of the Totals.
type Total struct {
	// Name is what it is called in JSON.
	Name string
	At   func(*Totals) *int64
	// Words and Note say what it counts, on the command line.
	Words, Note string
	// Help says so in the metric; "" where there is none.
	Help string
}

// Snake is the name in a zone's hash in Redis, and in metrics: queue_zone_<name>_total.
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

// TotalTable are all totals, in the order in which the Redis store replies with them
// (TOTALS in its zone.lua) and in which they are shown.
var TotalTable = []Total{
	{Name: "joined", At: func(t *Totals) *int64 { return &t.Joined }, Words: "joined"},
	{
		Name: "admitted", At: func(t *Totals) *int64 { return &t.Admitted }, Words: "let in",
		Help: "Visitors let in, as the store counts them; the same on every server.",
	},
	{
		Name: "left", At: func(t *Totals) *int64 { return &t.Left }, Words: "left",
		Help: "Visitors who gave their place up, as the store counts them.",
	},
	{
		Name: "swept", At: func(t *Totals) *int64 { return &t.Swept }, Words: "swept",
		Help: "Visitors removed because they were silent, as the store counts them.",
	},
	{Name: "restored", At: func(t *Totals) *int64 { return &t.Restored }, Words: "restored", Note: "put back after a loss"},
	{Name: "polls", At: func(t *Totals) *int64 { return &t.Polls }, Words: "polls"},
}

// Plus returns the totals and what happened between two readings of them. Where one has
// fallen, the store has begun anew meanwhile, and what happened up to then is not known.
func (t Totals) Plus(was, now Totals) Totals {
	for _, x := range TotalTable {
		*x.At(&t) += max(0, *x.At(&now)-*x.At(&was))
	}
	return t
}
