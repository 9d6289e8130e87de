package change

import (
	"cmp"
	"strings"

	"github.com/openqueue/waitingroom/internal/setting"
)

// Difference is one setting that is not the same in two versions of something.
type Difference struct {
	Name string
	// NowValue is as JSON has it.
	NowValue any
	// Label, Was and Now are for a person.
	Label, Was, Now string
	// WasText and NowText are as one types them, in a form or a command. Worded: they are JSON, and a person
	// reads Was and Now.
	WasText, NowText string
	Worded           bool
}

// Differences are the settings that are not the same in both, in the order of the table.
func Differences[T any](t setting.Table[T], was, now T) []Difference {
	all := []Difference{}
	for _, x := range t.Differences(was, now) {
		all = append(all, Difference{
			Name: x.Name, NowValue: x.Value(now), Label: x.Label, Was: x.Words(was), Now: x.Words(now),
			WasText: x.Text(was), NowText: x.Text(now), Worded: x.Of != "",
		})
	}
	return all
}

// String is the difference on one line, as one types it where that can be: perMinute 600 -> 900.
func (d Difference) String() string {
	was, now := d.WasText, d.NowText
	if d.Worded {
		was, now = d.Was, d.Now
	}
	shown := func(text string) string { return cmp.Or(oneLine.Replace(text), "none") }
	return d.Name + " " + shown(was) + " -> " + shown(now)
}

// oneLine puts the lines of texts in several languages behind one another.
var oneLine = strings.NewReplacer("\n", " / ")
