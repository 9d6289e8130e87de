package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The colours, of middling lightness, so that they show on a white page and on
// a black one. Text and rules have their own for each: see style.
const (
	grey   = "#8b949e"
	blue   = "#3b82d6"
	orange = "#d9772b"
	red    = "#d1495b"
)

const style = `<style>
text { font: 12px system-ui, sans-serif; fill: #444c56 }
.title { font-size: 15px; font-weight: 600 }
.small { font-size: 11px }
.rule { stroke: #8b949e; stroke-opacity: .3 }
.axis { stroke: #8b949e }
.bound { stroke: #d1495b; stroke-dasharray: 5 4 }
@media (prefers-color-scheme: dark) { text { fill: #adbac7 } }
</style>
`

// The frame of every plot, in pixels.
const (
	width, height         = 720, 360
	left, right           = 62, 16
	top, bottom           = 62, 54
	innerWidth            = width - left - right
	innerHeight           = height - top - bottom
	legendBox, legendStep = 10, 18
)

// plot draws into a frame with a vertical axis. It is an SVG file by itself.
type plot struct {
	strings.Builder
	low, high float64
	log       bool
}

// newPlot begins a plot whose vertical axis goes from low to high, with ticks
// at the values, or at good ones between if none are given.
func newPlot(title, yLabel, xLabel string, low, high float64, ticks []float64) *plot {
	p := &plot{low: low, high: high, log: ticks != nil}
	if ticks == nil {
		ticks = goodTicks(high)
		p.high = max(high, ticks[len(ticks)-1])
	}
	fmt.Fprintf(p, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n",
		width, height, width, height, html.EscapeString(title))
	p.WriteString(style)
	p.text(left, 22, "title", "start", title)
	p.text(left, 44, "small", "start", yLabel)
	p.text(left+innerWidth/2, height-10, "small", "middle", xLabel)
	for _, v := range ticks {
		y := p.y(v)
		p.line(left, y, left+innerWidth, y, "rule")
		p.text(left-8, y+4, "small", "end", short(v))
	}
	p.line(left, top+innerHeight, left+innerWidth, top+innerHeight, "axis")
	return p
}

// done ends the plot and returns the file.
func (p *plot) done() string { return p.String() + "</svg>\n" }

// y is where a value lies.
func (p *plot) y(v float64) float64 {
	at := (v - p.low) / (p.high - p.low)
	if p.log {
		at = math.Log(max(v, p.low)/p.low) / math.Log(p.high/p.low)
	}
	return top + innerHeight*(1-min(max(at, 0), 1))
}

func (p *plot) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(p, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`+"\n", x1, y1, x2, y2, class)
}

func (p *plot) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(p, `<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n",
		x, y, class, anchor, html.EscapeString(text))
}

func (p *plot) rect(x, y, w, h float64, colour string) {
	fmt.Fprintf(p, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, w, max(0, h), colour)
}

func (p *plot) dot(x, y, radius float64, colour string) {
	fmt.Fprintf(p, `<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s"/>`+"\n", x, y, radius, colour)
}

// bound draws a value that must not be passed.
func (p *plot) bound(v float64, text string) {
	p.line(left, p.y(v), left+innerWidth, p.y(v), "bound")
	p.text(left+innerWidth, p.y(v)-5, "small", "end", text)
}

// legend names the colours, at the upper right.
func (p *plot) legend(of []bars) {
	x := float64(left + innerWidth)
	for _, b := range slices.Backward(of) {
		// Seven pixels a character is a little more than the font takes.
		x -= float64(7*len(b.name) + legendBox + legendStep)
		p.rect(x, 44-legendBox+1, legendBox, legendBox, b.colour)
		p.text(x+legendBox+5, 44, "small", "start", b.name)
	}
}

// bars are one contender's values, one a group; a label stands over each.
type bars struct {
	name, colour string
	values       []float64
	labels       []string
}

// barPlot shows the contenders side by side in each group.
func barPlot(title, yLabel, xLabel string, groups []string, of []bars) string {
	high := 0.0
	for _, b := range of {
		for _, v := range b.values {
			high = max(high, v)
		}
	}
	p := newPlot(title, yLabel, xLabel, 0, high*1.1, nil)
	p.legend(of)
	group := float64(innerWidth) / float64(max(1, len(groups)))
	wide := min(54, group*0.8/float64(max(1, len(of))))
	for g, name := range groups {
		middle := left + group*(float64(g)+0.5)
		p.text(middle, top+innerHeight+18, "", "middle", name)
		for i, b := range of {
			x := middle + wide*(float64(i)-float64(len(of))/2)
			y := p.y(b.values[g])
			p.rect(x+1, y, wide-2, top+innerHeight-y, b.colour)
			p.text(x+wide/2, y-5, "small", "middle", b.labels[g])
		}
	}
	return p.done()
}

// spanPlot shows a span from one value to a larger one for each contender and
// group, on a logarithmic axis: the second half of bars' values are the ends.
func spanPlot(title, yLabel, xLabel string, groups []string, of []bars) string {
	low, high := math.Inf(1), 0.0
	for _, b := range of {
		for _, v := range b.values {
			if v > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if high == 0 {
		low, high = 1, 10
	}
	ticks := decades(low, high)
	p := newPlot(title, yLabel, xLabel, ticks[0], ticks[len(ticks)-1], ticks)
	p.legend(of)
	group := float64(innerWidth) / float64(max(1, len(groups)))
	for g, name := range groups {
		middle := left + group*(float64(g)+0.5)
		p.text(middle, top+innerHeight+18, "", "middle", name)
		for i, b := range of {
			x := middle + group*0.24*(float64(i)-float64(len(of)-1)/2)
			from, to := b.values[g], b.values[g+len(groups)]
			fmt.Fprintf(p, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="3"/>`+"\n",
				x, p.y(from), x, p.y(to), b.colour)
			p.dot(x, p.y(from), 5, b.colour)
			p.rect(x-9, p.y(to)-2, 18, 4, b.colour)
			p.text(x+10, p.y(from)+4, "small", "start", short(from))
			p.text(x+12, p.y(to)+4, "small", "start", short(to))
		}
	}
	return p.done()
}

// dotPlot shows values in their order, and the most that they may be.
func dotPlot(title, yLabel, xLabel string, values []float64, most float64, mostText string) string {
	high := most
	for _, v := range values {
		high = max(high, v)
	}
	p := newPlot(title, yLabel, xLabel, 0, high*1.1, nil)
	p.bound(most, mostText)
	for i, v := range values {
		colour := orange
		if v > most {
			colour = red
		}
		p.dot(left+float64(innerWidth)*(float64(i)+0.5)/float64(len(values)), p.y(v), 2, colour)
	}
	if n := len(values); n > 0 {
		p.text(left, top+innerHeight+18, "small", "middle", "1")
		p.text(left+innerWidth, top+innerHeight+18, "small", "middle", count(n))
	}
	return p.done()
}

// goodTicks are about five round values from 0 to high or just beyond.
func goodTicks(high float64) []float64 {
	if high <= 0 {
		high = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(high/5)))
	for _, m := range []float64{1, 2, 5, 10} {
		if high/(step*m) <= 6 {
			step *= m
			break
		}
	}
	var ticks []float64
	for i := 0; ; i++ {
		ticks = append(ticks, float64(i)*step)
		if float64(i)*step >= high {
			return ticks
		}
	}
}

// decades are of 1, 2, 5, 10, 20 ... those from the last that is not above low
// to the first that is not below high.
func decades(low, high float64) []float64 {
	var ticks []float64
	for unit := math.Pow(10, math.Floor(math.Log10(low))); ; unit *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if v := unit * m; v <= low {
				ticks = []float64{v}
			} else {
				ticks = append(ticks, v)
			}
			if last := ticks[len(ticks)-1]; last >= high && len(ticks) > 1 {
				return ticks
			}
		}
	}
}

// short writes a value on an axis.
func short(v float64) string {
	switch {
	case v >= 1000:
		return strconv.FormatFloat(v/1000, 'f', -1, 64) + "k"
	case v >= 100 || v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	default:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
}
