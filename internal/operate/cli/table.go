package cli

import (
	"slices"
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
	// spare tells how soon the column is left out where the terminal is too
	// narrow: the highest first, 0 never.
	spare int
}

// table is rows of text under titles. Without a width to keep, it is as wide as
// what is in it.
type table struct {
	columns []column
	rows    [][]string
	// least is how wide the columns are at least, or nil.
	least []int
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

// lines returns the titles and the rows, no longer than width, unless it is 0.
// To keep it, spare columns are left out, then the first one is shortened.
func (t *table) lines(width int) []string {
	shown, widths := t.fit(width)
	out := make([]string, 0, len(t.rows)+1)
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
	}
	for _, row := range append([][]string{titles}, t.rows...) {
		if heads(row) {
			out = append(out, row[0])
			continue
		}
		var b strings.Builder
		for i, c := range shown {
			if i > 0 {
				b.WriteString(gap)
			}
			text := shorten(row[c], widths[c])
			pad := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(text))
			if t.columns[c].right {
				b.WriteString(pad + text)
			} else {
				b.WriteString(text + pad)
			}
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	return out
}

// fit returns which columns are shown, and how wide each of all is.
func (t *table) fit(width int) (shown, widths []int) {
	widths = make([]int, len(t.columns))
	total := -len(gap)
	for i, c := range t.columns {
		shown = append(shown, i)
		widths[i] = utf8.RuneCountInString(c.title)
		if i < len(t.least) {
			widths[i] = max(widths[i], t.least[i])
		}
		for _, row := range t.rows {
			if !heads(row) {
				widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
			}
		}
		total += widths[i] + len(gap)
	}
	if width == 0 {
		return shown, widths
	}
	for total > width {
		spare := slices.MaxFunc(shown, func(a, b int) int { return t.columns[a].spare - t.columns[b].spare })
		if t.columns[spare].spare == 0 {
			break
		}
		total -= widths[spare] + len(gap)
		shown = slices.DeleteFunc(shown, func(i int) bool { return i == spare })
	}
	if over := total - width; over > 0 {
		widths[0] = max(widths[0]-over, utf8.RuneCountInString(t.columns[0].title))
	}
	return shown, widths
}

// shorten returns s in at most width characters; where some are missing, an
// ellipsis in the middle says so: names often differ at their ends.
func shorten(s string, width int) string {
	all := []rune(s)
	if len(all) <= width {
		return s
	}
	if width < 1 {
		return ""
	}
	tail := (width - 1) / 2
	return string(all[:width-1-tail]) + "…" + string(all[len(all)-tail:])
}
