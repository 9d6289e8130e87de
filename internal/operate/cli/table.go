package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"
)

// table is rows of text under titles, each column as wide as what is in it.
type table struct {
	titles []string
	rows   [][]string
}

// add adds a row: a cell for each column.
func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = harmless(oneLine.Replace(cells[i]), "")
	}
	t.rows = append(t.rows, cells)
}

// oneLine puts the lines of texts in several languages behind one another.
var oneLine = strings.NewReplacer("\n", " / ")

// harmless returns s without what a terminal would obey rather than show, but for
// kept: what answers may be no waiting room, and others may write to its store.
func harmless(s, kept string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(kept, r) {
			return r
		}
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// lines returns the titles, if there are any, and the rows. A row of one cell is a heading, and makes no column wider.
func (t *table) lines() []string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if t.titles != nil {
		_, _ = fmt.Fprintln(w, strings.Join(t.titles, "\t")) // a Builder takes all
	}
	for _, row := range t.rows {
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
	out := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i := range out {
		out[i] = strings.TrimRight(out[i], " ")
	}
	return out
}
