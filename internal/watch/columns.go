package watch

import (
	"strconv"
	"time"
)

// StepMillis is how far apart the rows of Columns are.
const StepMillis = int64(time.Second / time.Millisecond)

// Columns are samples turned into one array for each field, named as in a sample's JSON. Row i is the second Start +
// i*StepMillis. An entry is null if there is no sample of that second, or if its figure is not known.
type Columns struct {
	// Start is the second of the first row, in Unix milliseconds; 0 if there are no rows.
	Start int64
	rows  []*Sample
}

// NewColumns returns the samples, oldest first, of the last so many seconds up to
// the newest sample.
func NewColumns(samples []Sample, seconds int) Columns {
	if len(samples) == 0 || seconds <= 0 {
		return Columns{}
	}
	newest := samples[len(samples)-1].At
	c := Columns{Start: max(samples[0].At, newest-int64(seconds-1)*StepMillis)}
	c.rows = make([]*Sample, (newest-c.Start)/StepMillis+1)
	for i := range samples {
		if s := &samples[i]; s.At >= c.Start {
			c.rows[(s.At-c.Start)/StepMillis] = s
		}
	}
	return c
}

// Len is how many rows there are.
func (c Columns) Len() int { return len(c.rows) }

// MarshalJSON writes the arrays. There is none for the time, which follows from a row's index.
func (c Columns) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 128*(len(c.rows)+8)), '{')
	for n, f := range columns[1:] {
		if n > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, f.name)
		b = append(b, ":["...)
		for i, s := range c.rows {
			if i > 0 {
				b = append(b, ',')
			}
			b = f.append(b, s)
		}
		b = append(b, ']')
	}
	return append(b, '}'), nil
}
