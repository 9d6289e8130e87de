package loadtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/zone"
)

// A judge that convicts nobody proves nothing: each offence is shown to it.

// began is when the stories of these tests begin, in Unix milliseconds.
const began = 1_795_000_000_000

// tenPer6s is a zone of ten in any 6 s, all at once if they like, and 95 in any minute.
func tenPer6s() zone.Settings {
	z := zone.Defaults("Z")
	z.PerMinute, z.MaxPerSecond = 95, 10
	return z
}

// orderly is a crowd of n who come within a second, poll once a second on time,
// are told the right wait, and enter in their order, a millisecond apart, as soon as
// the window allows it. Nothing is wrong with it.
func orderly(n int) *Story {
	s := &Story{Scenario: "burst", ZoneID: "Z", Began: began, Size: 1, Promises: &Promises{
		OvertakenP99: 0.5, OvertakenMost: 2, EstimateError: 0.15, CapacityUsed: 0.9, EverybodyIn: true,
	}}
	for i := range n {
		s.Visitors = append(s.Visitors, visitorAt(i, int64(1000+6010*(i/10)+i%10)))
	}
	return s
}

// visitorAt is the i-th to come, let in so many milliseconds after the beginning.
func visitorAt(i int, in int64) Visitor {
	v := Visitor{
		Name: fmt.Sprintf("v%d", i), End: endIn, Arrived: 1000*began + int64(i)*1000, Admitted: began + in,
	}
	for at := int64(i); at < in; at += 1000 {
		kind := poll
		if at == int64(i) {
			kind = join
		}
		position := 1 + in - at // falls, and is never 0
		v.Asked = append(v.Asked, Request{kind, at, at, 2, 200, position, in - at - 2, 1000})
	}
	v.Asked = append(v.Asked, Request{Kind: poll, Due: in, Sent: in, Took: 0, Status: 200})
	return v
}

// broken are the promises that a verdict finds broken, shortened to what is before
// a colon.
func broken(v *Verdict) []string {
	var out []string
	for _, f := range v.Findings {
		if !f.Kept {
			out = append(out, f.Promise)
		}
	}
	return out
}

func TestJudgeAcquits(t *testing.T) {
	t.Parallel()
	v := Judge(orderly(90), tenPer6s(), &Counts{Joined: 90, Admitted: 90})
	if got := broken(v); len(got) > 0 {
		t.Errorf("broken: %v", got)
	}
	if v.Came != 90 || v.In != 90 || len(v.Overtaken) != 90 || v.MostWindow != 10 || v.MostMinute != 90 ||
		v.Capacity < 0.95 || v.Capacity > 1.1 || v.EstimateError != 0 || v.OvertakenMost != 0 {
		t.Errorf("got %+v", v)
	}
}

func TestJudgeConvicts(t *testing.T) {
	t.Parallel()
	const (
		window  = "never over the limit of a window"
		minute  = "never over the limit of a minute"
		second  = "an even flow: never over the limit of a second while there is a line"
		lost    = "nobody lost the place"
		waiting = "nobody was left waiting"
		twin    = "no place belongs to two"
		most    = "first come, first served: overtaken, the most"
		p99     = "first come, first served: overtaken, one of a hundred"
		back    = "who comes back goes first: overtaken once back, the most"
		wait    = "the estimate is honest: median error"
		idle    = "no place is wasted: capacity used"
		joined  = "the server counts the places that visitors were told of"
		counted = "the server counts the admissions that visitors were told of"
	)
	right := Counts{Joined: 90, Admitted: 90}
	tests := []struct {
		name   string
		change func(s *Story)
		counts Counts
		want   []string
	}{
		{"one more in a closed window", func(s *Story) { s.Visitors[10].Admitted = began + 7000 }, right, []string{window}},
		{"one more in a closed second", func(s *Story) {
			s.Visitors[0].Asked = s.Visitors[0].Asked[1:] // went straight in
			s.Visitors[0].Admitted -= 500
			s.Visitors[10].Admitted = began + 1_400
			s.Visitors[0].Asked[0].Position, s.Visitors[0].Arrived = 0, 0
		}, right, []string{window, second}},
		{"one more, a millisecond after the window", func(s *Story) { s.Visitors[10].Admitted = began + 7001 }, right, nil},
		{"a minute's worth and one", func(s *Story) {
			for i := range 6 {
				s.Visitors = append(s.Visitors, visitorAt(90+i, 61_000))
			}
		}, Counts{96, 96}, []string{minute}},
		{"the same, a millisecond later", func(s *Story) {
			for i := range 6 {
				s.Visitors = append(s.Visitors, visitorAt(90+i, 61_001))
			}
		}, Counts{96, 96}, nil},
		{"a place that was lost", func(s *Story) { s.Visitors[89].End, s.Visitors[89].Admitted = endLost, 0 },
			Counts{90, 89}, []string{lost}},
		{"an end that nobody knows", func(s *Story) { s.Visitors[89].End = "?" }, right, []string{lost, counted}},
		{"one who still waits", func(s *Story) { s.Visitors[89].End, s.Visitors[89].Admitted = endWaiting, 0 },
			Counts{90, 89}, []string{waiting}},
		{"one who still waits, where some may", func(s *Story) {
			s.Promises.EverybodyIn = false
			s.Visitors[89].End, s.Visitors[89].Admitted = endWaiting, 0
		}, Counts{90, 89}, nil},
		{"two in one place", func(s *Story) { s.Visitors[4].Arrived = s.Visitors[3].Arrived }, right, []string{twin}},
		{"overtaken by two windows' worth", overtaken(20), right, []string{p99}},
		{"overtaken by one more", overtaken(21), right, []string{p99, most}},
		{"overtaken, but late", func(s *Story) {
			overtaken(21)(s)
			s.Visitors[0].Asked[1].Sent += punctuality + 1
		}, right, nil},
		{"never let in, while others pass", func(s *Story) {
			v := visitorAt(0, 55_000)
			v.End, v.Admitted, v.Asked = endWaiting, 0, v.Asked[:len(v.Asked)-1]
			s.Visitors[0], s.Promises.EverybodyIn = v, false
		}, Counts{90, 89}, []string{p99, most}},
		{"back from the dark, and passed", func(s *Story) {
			overtaken(21)(s)
			s.Visitors[0].Dark = &[2]int64{500, 800}
		}, right, []string{back}},
		{"estimates a fifth too long", func(s *Story) { estimated(s, 1.2) }, right, []string{wait}},
		{"estimates a tenth too long", func(s *Story) { estimated(s, 1.1) }, right, nil},
		{"no estimates", func(s *Story) {
			for i := range s.Visitors {
				v := &s.Visitors[i]
				v.Asked = []Request{v.Asked[0], v.Asked[len(v.Asked)-1]}
				v.Asked[0].Position = 0
			}
		}, right, []string{wait}},
		{"a window that idles", func(s *Story) {
			for i := range s.Visitors[40:] {
				s.Visitors[40+i] = visitorAt(40+i, s.Visitors[40+i].Admitted-began+12_000)
			}
		}, right, []string{idle}},
		{"never two windows' worth", func(s *Story) { s.Visitors = s.Visitors[:15] }, Counts{15, 15}, []string{idle}},
		{"a place that nobody heard of", func(*Story) {}, Counts{91, 90}, []string{joined}},
		{"an admission that nobody heard of", func(*Story) {}, Counts{90, 91}, []string{counted}},
		{"nobody let in", func(s *Story) {
			s.Promises = &Promises{EstimateError: 1}
			for i := range s.Visitors {
				s.Visitors[i].End, s.Visitors[i].Admitted = endLeft, 0
			}
		}, Counts{90, 0}, []string{"somebody was let in", wait}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := orderly(90)
			tt.change(s)
			v := Judge(s, tenPer6s(), &tt.counts)
			if got := broken(v); !slices.Equal(got, tt.want) {
				t.Errorf("broken: %s; want %s\n%+v", strings.Join(got, ", "), strings.Join(tt.want, ", "), v)
			}
		})
	}
}

// overtaken has the first visitor be admitted after n others.
func overtaken(n int) func(s *Story) {
	return func(s *Story) {
		// In the place of the n+1-th, each of whom moves up by one.
		var times []int64
		for _, v := range s.Visitors {
			times = append(times, v.Admitted-s.Began)
		}
		for i := range n {
			s.Visitors[1+i] = visitorAt(1+i, times[i])
		}
		s.Visitors[0] = visitorAt(0, times[n])
	}
}

func estimated(s *Story, factor float64) {
	for i := range s.Visitors {
		for j := range s.Visitors[i].Asked {
			r := &s.Visitors[i].Asked[j]
			r.Estimate = int64(float64(r.Estimate) * factor)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	const head = `{"scenario":"burst","zoneId":"Z","began":1795000000000,"size":1,"promises":{"overtakenP99":0.5,"everybodyIn":true}}`
	const visitor = `{"visitor":"a","end":"in","arrived":7,"admitted":8,"dark":[3,4],"asked":[[0,1,2,3,200,5,6,7],[2,9,9,1,0,0,0,0]]}`
	s, err := Read(strings.NewReader("wrong answer: 500\n" + head + "\n\n" + visitor + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Request{join, 1, 2, 3, 200, 5, 6, 7}
	v := s.Visitors[0]
	if s.Scenario != "burst" || s.Promises.OvertakenP99 != 0.5 || len(s.Visitors) != 1 || v.Asked[0] != want ||
		v.Asked[1].Kind != repeat || *v.Dark != [2]int64{3, 4} || !slices.Equal(s.Remarks, []string{"wrong answer: 500"}) {
		t.Errorf("got %+v", s)
	}
	for name, text := range map[string]string{
		"empty":                          "",
		"no head":                        visitor,
		"a head without promises":        `{"scenario":"burst","zoneId":"Z","began":1}`,
		"half a line":                    head + "\n" + visitor[:40],
		"a visitor who asked of nothing": head + "\n" + `{"visitor":"a","end":"in","asked":[]}`,
		"a request too short":            head + "\n" + `{"visitor":"a","end":"in","asked":[[0,1,2]]}`,
		"a request of no kind":           head + "\n" + `{"visitor":"a","end":"in","asked":[[3,1,2,3,200,5,6,7]]}`,
	} {
		if s, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: read as %+v", name, s)
		}
	}
}

// TestOpening: a crowd that gathers is judged from the opening on.
func TestOpening(t *testing.T) {
	t.Parallel()
	// gathered waits without a number up to the opening, 10 s after it began.
	const opens = 10_000
	gathered := func() *Story {
		s := orderly(60)
		s.Opens, s.Promises.FirstWindows = opens, 0.95
		for i := range s.Visitors {
			v := &s.Visitors[i]
			in := int64(opens + 6010*(i/10) + i%10)
			*v = visitorAt(i, in)
			for n := range v.Asked {
				if v.Asked[n].Sent < opens/2 {
					v.Asked[n].Position = 0
				}
			}
		}
		return s
	}
	if v := Judge(gathered(), tenPer6s(), nil); len(broken(v)) > 0 || v.FirstWindows != 1 || v.Early != 0 {
		t.Errorf("broken: %v; %d early, %.2f of the first windows", broken(v), v.Early, v.FirstWindows)
	}
	for want, offend := range map[string]func(s *Story){
		"nobody was let in before the opening": func(s *Story) { s.Visitors[0].Admitted = began + opens - 1 },
		"no place is wasted: the first two windows after the opening": func(s *Story) {
			for i := range s.Visitors[10:] { // the second window is late
				s.Visitors[10+i].Admitted += 6_000
			}
		},
	} {
		s := gathered()
		offend(s)
		if got := broken(Judge(s, tenPer6s(), nil)); !slices.Contains(got, want) {
			t.Errorf("broken: %v, want %q", got, want)
		}
	}
}
