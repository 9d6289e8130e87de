package cli

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// gap is between two columns of a table.
const gap = "  "

// column is one column of a table.
type column struct {
	title string
	// right aligns figures.
	right bool
}

// table is rows of text under titles, each column as wide as what is in it.
type table struct {
	columns []column
	rows    [][]string
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

// heads reports whether a row has but its first cell: it is a heading, and makes no
// column wider.
func heads(row []string) bool { return strings.Join(row[1:], "") == "" }

// lines returns the titles and the rows.
func (t *table) lines() []string {
	rows, widths := [][]string{make([]string, len(t.columns))}, make([]int, len(t.columns))
	for i, c := range t.columns {
		rows[0][i] = c.title
	}
	rows = append(rows, t.rows...)
	for i, row := range rows {
		for c := range widths {
			if i == 0 || !heads(row) {
				widths[c] = max(widths[c], utf8.RuneCountInString(row[c]))
			}
		}
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		if heads(row) {
			out[i] = row[0]
			continue
		}
		var b strings.Builder
		for c, text := range row {
			pad := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(text))
			if t.columns[c].right {
				text, pad = pad+text, ""
			}
			b.WriteString(text + pad + gap)
		}
		out[i] = strings.TrimRight(b.String(), " ")
	}
	return out
}

// cut returns the first width characters of s.
func cut(s string, width int) string {
	if all := []rune(s); len(all) > width {
		return string(all[:max(0, width)])
	}
	return s
}
