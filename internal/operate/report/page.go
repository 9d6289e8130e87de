package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	texttemplate "text/template"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"github.com/openqueue/waitingroom/internal/history"
)

// Reader is for whom a report is written.
type Reader struct {
	// Place is the time zone of all times.
	Place *time.Location
	// Language says how numbers are written. The words are English.
	Language language.Tag
}

//go:embed page.tmpl
var pageText string

//go:embed page.css
var style string

//go:embed text.tmpl
var plainText string

// ContentPolicy is the Content-Security-Policy of the page: nothing but its own style.
var ContentPolicy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// shown is a report as a template has it.
type shown struct {
	*Report
	reader Reader
	print  *message.Printer
}

var (
	page  = template.Must(template.New("page").Parse(strings.Replace(pageText, "STYLE", style, 1)))
	plain = texttemplate.Must(texttemplate.New("text").Parse(plainText))
)

func (r *Report) shownTo(reader Reader) *shown {
	if reader.Place == nil {
		reader.Place = time.UTC
	}
	return &shown{r, reader, message.NewPrinter(reader.Language)}
}

// HTML writes the report as one page that needs nothing else.
func (r *Report) HTML(w io.Writer, reader Reader) error {
	return page.Execute(w, r.shownTo(reader))
}

// Text writes the figures for a terminal.
func (r *Report) Text(w io.Writer, reader Reader) error {
	return plain.Execute(w, r.shownTo(reader))
}

// CSV writes the minutes, one a line, below a line of names. Times are in RFC 3339.
func (r *Report) CSV(w io.Writer, reader Reader) error {
	s := r.shownTo(reader)
	out := csv.NewWriter(w)
	rows := [][]string{{
		"time", "minutesWithoutData", "joined", "admitted", "left", "swept", "restored", "unused", "refused", "waiting", "inside", "perMinute", "maxInside",
		"mode", "estimateSeconds", "waitP50Seconds", "waitP95Seconds", "waitMaxSeconds",
	}}
	for i := range r.Minutes {
		m := &r.Minutes[i]
		row := []string{m.Time().In(s.reader.Place).Format(time.RFC3339)}
		for _, n := range []int64{
			m.NoData, m.Joined, m.Admitted, m.Left, m.Swept, m.Restored, m.Unused, refusedIn(m), m.Waiting, m.Inside, m.PerMinute, m.MaxInside,
		} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		row = append(row, string(m.Mode))
		for _, n := range []int64{m.EstimateMillis, m.WaitP50Millis, m.WaitP95Millis, m.WaitMaxMillis} {
			row = append(row, strconv.FormatFloat(float64(n)/1000, 'f', -1, 64))
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}

func refusedIn(m *history.Minute) (all int64) {
	for _, n := range m.Refused {
		all += n
	}
	return all
}

// N is a number in the reader's language.
func (s *shown) N(n int64) string { return s.print.Sprint(number.Decimal(n)) }

// Percent is a share of 100.
func (s *shown) Percent(of float64) string {
	return s.print.Sprint(number.Decimal(of, number.MaxFractionDigits(1))) + " %"
}

// Part is how much n is of all, in percent.
func (s *shown) Part(n, of int64) string { return s.Percent(100 * float64(n) / float64(max(1, of))) }

// Clock, Day and Moment are a time at the reader's place, with seconds in Moment.
func (s *shown) Clock(ms int64) string {
	return time.UnixMilli(ms).In(s.reader.Place).Format("15:04")
}

// Moment is a time with its date and the name of its zone.
func (s *shown) Moment(ms int64) string {
	return time.UnixMilli(ms).In(s.reader.Place).Format("2006-01-02 15:04:05 MST")
}

// Machine is a time for machines.
func (s *shown) Machine(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// Zone is the name of the reader's place.
func (s *shown) Zone() string { return s.reader.Place.String() }

// Wait is a span in words.
func (s *shown) Wait(ms int64) string {
	d := (time.Duration(ms) * time.Millisecond).Round(time.Second)
	switch {
	case d < time.Minute:
		return s.N(int64(d/time.Second)) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%s min %02d s", s.N(int64(d/time.Minute)), int64(d%time.Minute/time.Second))
	default:
		return fmt.Sprintf("%s h %02d min", s.N(int64(d/time.Hour)), int64(d%time.Hour/time.Minute))
	}
}

// Number is the number of an action in the list and in the charts.
func (s *shown) Number(i int) string { return s.N(int64(i) + 1) }

// What joins the words of an action.
func (s *shown) What(a Action) string { return strings.Join(a.What, "; ") }

// The size of a chart, in the units of its view.
const (
	wide, high       = 720, 150
	chartLeft        = 58
	chartRight       = 20 // half of the last label
	chartTop, bottom = 8, 20
	// columns is how many points a curve has at most. Of several minutes in one column the greatest is shown.
	columns = 640
)

// Chart is curves over the span.
type Chart struct {
	Title  string
	Curves []Curve
	// Ticks are the labels of the value axis, Times those of the time axis; Marks are actions, by their number in the list, and Gaps are
	// spans without data.
	Ticks, Times []Tick
	Marks        []Tick
	Gaps         []Band
	Unit         string
}

// Curve is one line; Path is in the language of SVG, Class one of a, b and c.
type Curve struct{ Name, Class, Path string }

// Tick is a label at a place.
type Tick struct {
	At   int
	Text string
}

// Band is a span of the time axis.
type Band struct{ At, Width int }

// Charts are those of the report.
func (s *shown) Charts() []Chart {
	value := func(of func(*history.Minute) int64) func(*history.Minute) float64 {
		return func(m *history.Minute) float64 { return float64(of(m)) }
	}
	minutes := func(of func(*history.Minute) int64) func(*history.Minute) float64 {
		return func(m *history.Minute) float64 { return float64(of(m)) / float64(minute.Milliseconds()) }
	}
	all := []Chart{
		s.chart("People waiting", "", curve{"waiting", "a", value(func(m *history.Minute) int64 { return m.Waiting })}),
		s.chart("Admitted in a minute, and the limit", "", curve{"limit", "c", value(func(m *history.Minute) int64 { return m.PerMinute })},
			curve{"admitted", "a", value(func(m *history.Minute) int64 { return m.Admitted })}),
		s.chart("Wait of those admitted, in minutes", "min", curve{"95 %", "b", minutes(func(m *history.Minute) int64 { return m.WaitP95Millis })},
			curve{"half", "a", minutes(func(m *history.Minute) int64 { return m.WaitP50Millis })},
			curve{"what newcomers were told", "c", minutes(func(m *history.Minute) int64 { return m.EstimateMillis })}),
	}
	if s.MostInside.N > 0 {
		all = append(all, s.chart("Inside, and the cap", "", curve{"cap", "c", value(func(m *history.Minute) int64 { return m.MaxInside })},
			curve{"inside", "a", value(func(m *history.Minute) int64 { return m.Inside })}))
	}
	return all
}

type curve struct {
	name, class string
	of          func(*history.Minute) float64
}

// x is where a moment stands, in units of the view.
func (s *shown) x(ms int64) int {
	return chartLeft + int(float64(wide-chartLeft-chartRight)*float64(ms-s.From)/float64(max(1, s.To-s.From)))
}

// chart draws curves on one scale from 0.
func (s *shown) chart(title, unit string, curves ...curve) Chart {
	c := Chart{Title: title, Unit: unit}
	per := max(1, (s.To-s.From)/minute.Milliseconds()/columns+1) // minutes a column
	from := s.From / minute.Milliseconds()
	upto := (s.To + minute.Milliseconds() - 1) / minute.Milliseconds()
	n := int((upto - from + per - 1) / per)
	values, top := make([][]float64, len(curves)), 1.0
	for i, one := range curves {
		values[i] = make([]float64, n)
		for j := range s.Minutes {
			m := &s.Minutes[j]
			if at := int((m.At/minute.Milliseconds() - from) / per); at >= 0 && at < n && m.NoData == 0 {
				values[i][at] = max(values[i][at], one.of(m))
				top = max(top, values[i][at])
			}
		}
	}
	step := niceStep(top)
	top = step * float64(int(top/step)+1)
	y := func(v float64) int { return chartTop + int(float64(high-chartTop-bottom)*(1-v/top)) }
	for v := 0.0; v <= top; v += step {
		c.Ticks = append(c.Ticks, Tick{y(v), s.print.Sprint(number.Decimal(v))})
	}
	for i, one := range curves {
		var path strings.Builder
		for at, v := range values[i] {
			verb := "L"
			if at == 0 {
				verb = "M"
			}
			fmt.Fprintf(&path, "%s%d %d", verb, s.x((from+int64(at)*per)*minute.Milliseconds()), y(v))
		}
		c.Curves = append(c.Curves, Curve{one.name, one.class, path.String()})
	}
	for _, g := range s.Gaps {
		at := s.x(g.At)
		c.Gaps = append(c.Gaps, Band{at, max(2, s.x(g.At+g.Minutes*minute.Milliseconds())-at)})
	}
	for i, a := range s.Actions {
		c.Marks = append(c.Marks, Tick{s.x(a.At), strconv.Itoa(i + 1)})
	}
	c.Times = s.times()
	return c
}

// niceStep is 1, 2 or 5 times a power of ten: three to six steps make the top.
func niceStep(top float64) float64 {
	step := 1.0
	for step*5 < top {
		step *= 10
	}
	for step > top/2.5 && step > 1 {
		step /= 10
	}
	for _, k := range []float64{1, 2, 5, 10} {
		if step*k*5 >= top {
			return step * k
		}
	}
	return step * 10
}

// times are the labels of the time axis: three to eight, at full spans of the reader's clock.
func (s *shown) times() (all []Tick) {
	spans := []time.Duration{minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}
	length := time.Duration(s.To-s.From) * time.Millisecond
	i := slices.IndexFunc(spans, func(d time.Duration) bool { return length/d <= 8 })
	if i < 0 {
		i = len(spans) - 1
	}
	format := "15:04"
	if spans[i] >= 24*time.Hour {
		format = "Jan 2"
	}
	_, offset := time.UnixMilli(s.From).In(s.reader.Place).Zone()
	shift := time.Duration(offset) * time.Second
	for at := time.UnixMilli(s.From).Add(shift).Truncate(spans[i]).Add(-shift); at.UnixMilli() <= s.To; at = at.Add(spans[i]) {
		if at.UnixMilli() >= s.From {
			all = append(all, Tick{s.x(at.UnixMilli()), at.In(s.reader.Place).Format(format)})
		}
	}
	return all
}
