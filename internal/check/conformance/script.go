package conformance

import (
	"embed"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// scripts are the stories that are written as text. A line at the margin is a story's
// name, the indented lines below it are its steps, # begins a comment. stories/README.md
// describes the steps.
//
//go:embed stories/*.txt
var scripts embed.FS

// scripted returns the stories of all scripts, by name.
func scripted() (map[string]func(*story), error) {
	all := make(map[string]func(*story))
	files, err := scripts.ReadDir("stories")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := scripts.ReadFile("stories/" + f.Name())
		if err != nil {
			return nil, err
		}
		name, steps := "", map[string][]string{}
		for l := range strings.Lines(string(text)) {
			step := strings.TrimSpace(l)
			switch {
			case step == "" || step[0] == '#':
			case l[0] == ' ':
				steps[name] = append(steps[name], step)
			case all[step] != nil || steps[step] != nil:
				return nil, fmt.Errorf("conformance: %s: two stories are called %q", f.Name(), step)
			default:
				name = step
			}
		}
		for name, steps := range steps {
			all[name] = func(s *story) {
				s.t.Helper()
				for _, step := range steps {
					s.t.Logf("> %s", step)
					s.step(step)
				}
			}
		}
	}
	return all, nil
}

// step does one step of a script.
func (s *story) step(text string) {
	s.t.Helper()
	if d, err := time.ParseDuration(text); err == nil {
		s.after(d)
		return
	}
	told, want, _ := strings.Cut(text, ": ")
	words := append(strings.Fields(told), "")
	verb, first, rest := words[0], words[1], words[1:len(words)-1]
	if s.event(verb, rest) || s.inside(verb, rest, want) {
		return
	}
	switch verb {
	case "full":
		s.full()
	case "zone", "make":
		s.put(s.edited(rest))
	case "delete": // by somebody
		s.settings = s.model.settings
		s.delete(strings.TrimPrefix(strings.TrimPrefix(text, verb), " by "))
	case "unknown":
		s.allFail(line.ErrZoneUnknown)
		s.list()
	case "deleted":
		s.fails("restore", s.store().RestoreZone(s.t.Context(), s.settings, line.Memory{}), line.ErrZoneDeleted)
		s.allFail(line.ErrZoneDeleted)
		s.list()
	case "listed":
		s.list(s.model.settings)
	case "changes":
		s.changes()
		s.equal(text, strconv.Itoa(len(s.record)), first)
	case "join", "poll":
		s.ask(verb, rest, want)
	case "leave":
		for _, who := range s.names(rest) {
			s.leave(who)
		}
	case "keep": // a as b
		s.tokens[rest[2]] = s.tokens[first]
	case "forget": // all but the id
		s.tokens[first] = line.Place{ID: s.tokens[first].ID, ArrivedAtMicros: line.AnyArrival}
	case "gap":
		s.holds(text, want, s.tokens[rest[1]].ArrivedAtMicros-s.tokens[first].ArrivedAtMicros)
	case "period": // of a, and that much more
		s.after(time.Duration(s.answers[rest[1]].PeriodMillis) * milli)
		if len(rest) > 2 {
			s.after(s.duration(rest[2]))
		}
	case "for": // 6s every 250ms v*12, 6s as told v*12
		who, every := s.names(rest[3:]), time.Duration(0)
		if rest[1] == "every" {
			every = s.duration(rest[2])
		}
		if in := s.pollAll(who, every, s.duration(first)); want != "" && !slices.Equal(in, s.names(strings.Fields(want))) {
			s.t.Fatalf("%s: let in %v", text, in)
		}
	case "most": // in 6s
		s.holds(text, want, int64(s.mostIn(s.duration(rest[1]))))
	case "sweep":
		if n := s.sweep(); first != "" {
			s.equal(text, strconv.FormatInt(n, 10), first)
		}
	case "stats":
		st := s.stats()
		s.figures(rest, st.State, st.Totals, st)
	case "totals":
		s.totals(rest)
	case "lost":
		s.stores[0].Store = s.stores[0].Lose(s.t)
	case "lose":
		m := s.memory()
		if first == "forgotten" {
			m = line.Memory{}
		}
		s.lose(m)
	case "restore":
		s.fails(text, s.store().RestoreZone(s.t.Context(), s.edited(rest), s.memory()), nil)
	case "elsewhere":
		s.departed = nil
	case "recall":
		departed := s.departed
		if first != "" {
			departed = []line.Departure{{Place: s.tokens[first]}}
		}
		s.recall(departed...)
	case "footprint": // the same as the first time
		now := s.stores[0].Footprint(s.t, s.zoneID)
		if s.footprint != nil && !maps.Equal(now, s.footprint) {
			s.t.Fatalf("the store holds %v, it held %v", now, s.footprint)
		}
		s.footprint = now
	default:
		s.t.Fatalf("no step is called %q", verb)
	}
}

// ask has visitors join or poll, one after the other, and compares their answers.
func (s *story) ask(verb string, who []string, want string) {
	s.t.Helper()
	for i, who := range s.names(who) {
		var r reply
		if verb == "join" {
			r = s.join(who)
		} else {
			r = s.poll(who)
		}
		for words := strings.Fields(want); len(words) > 0; words = words[1:] {
			switch words[0] {
			case "in":
				r.enters()
			case "again":
				again := s.admissions[r.Place.ID]
				r.is(line.AdmittedBefore)
				s.equal(who+" was admitted at", r.AdmittedAtMillis, again.AdmittedAtMillis)
				s.equal(who+"'s pass expires at", r.ExpiresAtMillis, again.ExpiresAtMillis)
			case "restored":
				s.equal(who+" was restored", r.Restored, true)
			case "waits": // 1, or 1.. for several
				at, several := strings.CutSuffix(words[1], "..")
				position, err := strconv.ParseInt(at, 10, 64)
				s.fails(want, err, nil)
				if several {
					position += int64(i)
				}
				r.waits(position)
				words = words[1:]
			default:
				if refused := slices.Index(line.Statuses(), words[0]); refused > int(line.AdmittedBefore) {
					r.is(line.Status(refused))
				} else {
					s.figures(words[:1], r.State, r.Answer)
				}
			}
		}
	}
}

var many = regexp.MustCompile(`^(\w+)\*(\d+)(?:\[(\d*):(\d*)(?::(\d+))?\])?$`)

// names are those of visitors: v*3 is three whose names begin so, v*9[2:5] some of
// them, as in Go, v*9[1::3] every third.
func (s *story) names(words []string) (all []string) {
	s.t.Helper()
	number := func(text string, otherwise int) int {
		if text == "" {
			return otherwise
		}
		n, err := strconv.Atoi(text)
		s.fails(text, err, nil)
		return n
	}
	for _, w := range words {
		m := many.FindStringSubmatch(w)
		switch {
		case w == "nobody":
		case w == "backwards":
			slices.Reverse(all)
		case m == nil:
			all = append(all, w)
		default:
			n := number(m[2], 0)
			for i := number(m[3], 0); i < number(m[4], n); i += number(m[5], 1) {
				all = append(all, names(m[1], n)[i])
			}
		}
	}
	return all
}

// edited are the settings of the zone, of one that was deleted, or the defaults, with
// some changed: perMinute=10.
func (s *story) edited(changes []string) zone.Settings {
	s.t.Helper()
	z := s.defaults()
	switch {
	case s.model != nil:
		z = s.model.settings
	case s.settings.ZoneID != "":
		z = s.settings
	}
	for _, c := range changes {
		name, value, _ := strings.Cut(c, "=")
		x := zone.Table.Find(name)
		if x == nil {
			s.t.Fatalf("%s: there is no such setting", c)
		}
		s.fails(c, x.Parse(&z, value), nil)
	}
	return z
}

func (s *story) duration(text string) time.Duration {
	s.t.Helper()
	d, err := time.ParseDuration(text)
	s.fails(text, err, nil)
	return d
}

// figure is a number that is told by its name, and what it has to be.
type figure struct {
	name, is string
	value    int64
}

var figureText = regexp.MustCompile(`^(\w*)(=|>|<=)(-?\d+)$`)

func (s *story) figure(text string) figure {
	s.t.Helper()
	m := figureText.FindStringSubmatch(text)
	if m == nil {
		s.t.Fatalf("%q is no figure", text)
	}
	n, err := strconv.ParseInt(m[3], 10, 64)
	s.fails(text, err, nil)
	return figure{m[1], m[2], n}
}

// figures compares fields of what a store said: InWindow=2.
func (s *story) figures(wanted []string, said ...any) {
	s.t.Helper()
	for _, w := range wanted {
		name := s.figure(w).name
		i := slices.IndexFunc(said, func(x any) bool { return reflect.ValueOf(x).FieldByName(name).IsValid() })
		if i < 0 {
			s.t.Fatalf("nothing is called %q", name)
		}
		s.holds(w, w[len(name):], reflect.ValueOf(said[i]).FieldByName(name).Int())
	}
}

// holds compares a number with what it has to be: =2, >0, <=20.
func (s *story) holds(what, want string, got int64) {
	s.t.Helper()
	f := s.figure(want)
	if kept := f.is == "=" && got == f.value || f.is == ">" && got > f.value || f.is == "<=" && got <= f.value; !kept {
		s.t.Fatalf("%s: it is %d", what, got)
	}
}
