package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// noticed is how long before places are fixed the opening can no longer take that with
	// it, in milliseconds: see event.State.Move.
	noticed = 2_000
)

// stepAskView is the page, or the dialog, that says what holding or moving a step, or opening or
// cancelling the event, will do, and asks.
type stepAskView struct {
	// Path is the event's page, Action where the answer goes.
	Path, Action, Title, Button string
	Faults                      []string
	Effects                     change.Says
	Times                       []timeRow
	// Do, To and Seen are what is confirmed: Seen is the step's time as it is shown.
	Do, To, Seen string
}

// timeRow is a step whose time changes.
type timeRow struct {
	Label    string
	Was, Now rowTime
}

// rowTime is a time, or a word where there is none.
type rowTime struct {
	time.Time
	Word string
}

// stepAsk is GET /console/zones/{zoneId}/schedule/{event}/steps/{step}: what do=hold or move would
// do to the step, to the time to, or by so many seconds; and do=open or cancel to the event. It
// changes nothing.
func (c *Console) stepAsk(w http.ResponseWriter, r *http.Request, s session, current zone.Settings, e event.Event) error {
	step, q, now := event.Step(r.PathValue("step")), r.URL.Query(), c.clock(current.ZoneID)
	v := stepAskView{
		Path: eventPath(current.ZoneID, e.Name), Action: eventPath(current.ZoneID, e.Name) + "/steps/" + url.PathEscape(string(step)),
		Do: q.Get("do"), Seen: seenOf(current, e.Name, step),
	}
	to, fault := moveTo(q, current.EventState.Now, step, now)
	next := current
	if fault == "" {
		next, fault = operator.Act{Do: operator.Verb(v.Do), Step: step, To: to}.On(current, e.Name, now)
	}
	if fault != "" {
		v.Title, v.Faults = "This cannot be done", []string{capitalFault(fault) + "."}
		return c.render(w, http.StatusUnprocessableEntity, "step", s, v.Title, v)
	}
	v.To = to.UTC().Format(time.RFC3339)
	what := change.Nouns[step] + " of " + e.Name
	v.Button = capital(v.Do) + " " + change.Nouns[step]
	if do := operator.Verb(v.Do); do == operator.Open || do == operator.Cancel {
		what, v.Button = e.Name, capital(v.Do)+" "+e.Name
	}
	v.Title = fmt.Sprintf("%s %s?", capital(v.Do), what)
	v.Effects = c.stepSays(current, next, step, operator.Verb(v.Do), now)
	v.Times = timeRows(current.EventState.Now, next.EventState.Now)
	return c.render(w, http.StatusOK, "step", s, v.Title, v)
}

// stepDo is POST .../steps/{step}: does what was confirmed, if the step's time is what it was.
func (c *Console) stepDo(w http.ResponseWriter, r *http.Request, s session) error {
	step, form := event.Step(r.PathValue("step")), r.PostForm
	var to time.Time
	if form.Get("do") == string(operator.Move) {
		var err error
		if to, err = time.Parse(time.RFC3339, form.Get("to")); err != nil {
			return errNothing
		}
	}
	for range maxTries {
		current, e, err := c.findEvent(r)
		if err != nil {
			return err
		}
		if seenOf(current, e.Name, step) != form.Get("seen") {
			v := conflictView{Path: eventPath(current.ZoneID, e.Name), Name: e.Name, By: "Somebody"}
			if changes, err := c.zoneEditor.changes(r.Context(), current.ZoneID, zone.MaxChanges); err == nil {
				v.By, v.At = c.zoneEditor.whoChanged(changes, []change.Difference{{Name: "eventState"}})
			}
			return c.render(w, http.StatusConflict, "conflict", s, "Not changed", v)
		}
		next, err := c.Zones.ActFrom(r.Context(), current, e.Name, operator.Act{Do: operator.Verb(form.Get("do")), Step: step, To: to}, s.who)
		if errors.Is(err, line.ErrZoneChanged) {
			continue
		}
		if err != nil {
			return err
		}
		return c.zoneEditor.done(w, r, eventPath(current.ZoneID, e.Name), current.ZoneID, next)
	}
	return line.ErrZoneChanged
}

// seenOf is the time of a step as a form knows it: "" where the event is not the one that is
// next or under way.
func seenOf(s zone.Settings, name string, step event.Step) string {
	p := s.EventState.Now
	if p == nil || p.Event.Name != name || !slices.Contains(event.Steps, step) {
		return ""
	}
	at, made := p.Step(step)
	return fmt.Sprintf("%d.%t.%s", at, made, p.Event.OpensAt)
}

// moveTo is the time to which a step is to be moved: zero if it is not to be.
func moveTo(q url.Values, p *event.Progress, step event.Step, now time.Time) (to time.Time, fault string) {
	if q.Get("do") != string(operator.Move) {
		return to, ""
	}
	if p == nil || !slices.Contains(event.Steps, step) {
		return now, "" // On says what is wrong
	}
	at, _ := p.Step(step)
	from := time.UnixMilli(at)
	if at == event.Never || at == 0 {
		from = now.Truncate(time.Second)
	}
	if by := q.Get("by"); by != "" {
		seconds, err := strconv.ParseInt(by, 10, 32)
		if err != nil {
			return to, "that is no number of seconds"
		}
		return from.Add(time.Duration(seconds) * time.Second), ""
	}
	to, err := time.Parse(time.RFC3339, q.Get("to"))
	if err != nil {
		return to, "write a time such as 2026-12-01T12:00:00+01:00"
	}
	return to, ""
}

// stepSays says what will happen.
func (c *Console) stepSays(was, next zone.Settings, step event.Step, how operator.Verb, now time.Time) change.Says {
	var all change.Says
	p := was.EventState.Now
	gathered := c.gathered(was)
	switch how {
	case operator.Hold:
		held(&all, p, step, gathered, now)
	case operator.Cancel:
		cancelled(&all, was, next, gathered)
	default:
		moved(&all, p, next.EventState.Now, step, now)
	}
	if after := next.EventState.Now; after != nil && (step == event.StepOpens || step == event.StepPreQueue) {
		if after.ClosesAtMillis > 0 || after.EndsAtMillis > 0 {
			all.Add("The steps after it stay at their times: look at them, too.")
		}
	}
	all.Add("All servers go by it within a second, and it stands in the record under your name.")
	return all
}

// gathered is how many wait, in words.
func (c *Console) gathered(s zone.Settings) string {
	if now, seen := c.Watch.Latest(s.ZoneID); seen && now.Known() {
		return count(now.Waiting)
	}
	return "an unknown number"
}

func held(s *change.Says, p *event.Progress, step event.Step, gathered string, now time.Time) {
	s.Add("%s waits until somebody moves it.", capital(change.Nouns[step]))
	switch step {
	case event.StepOpens:
		s.Warn("Nobody is let in. Those who wait (%s) keep their places, and are told that there is no time yet.", gathered)
		switch {
		case p.Phase != event.PhaseGathering:
		case now.UnixMilli()+noticed >= p.SettlesAtMillis:
			s.Add("Places are fixed: everybody keeps the number, and who comes now stands behind.")
		case p.Order == event.OrderDraw:
			s.Add("The draw stays open: who comes meanwhile is drawn as well.")
		}
	case event.StepPreQueue:
		s.Warn("Nobody gathers, and it does not open. Until then the zone goes on as it is: who comes is let in at its limit.")
	case event.StepCloses:
		s.Add("Newcomers are taken on until then.")
	case event.StepEnds:
		s.Add("The settings of the event hold until then.")
	}
}

func moved(s *change.Says, p, after *event.Progress, step event.Step, now time.Time) {
	at, _ := after.Step(step)
	one := change.Say{Text: "Then it is at", At: time.UnixMilli(at), Full: true, Tail: ", in " + until(at-now.UnixMilli()) + "."}
	if was, _ := p.Step(step); was != event.Never && was != 0 {
		earlier := map[bool]string{true: "earlier", false: "later"}[at < was]
		one.Tail = fmt.Sprintf(", in %s: %s %s than now.", until(at-now.UnixMilli()), until(max(at-was, was-at)), earlier)
	}
	*s = append(*s, one)
	if p.Held == step {
		s.Add("It is held no more.")
	}
	switch {
	case step != event.StepOpens:
	case p.SettlesAtMillis != after.SettlesAtMillis && after.SettlesAtMillis > now.UnixMilli():
		*s = append(*s, change.Say{Text: labelOf(p, settles) + " at", At: time.UnixMilli(after.SettlesAtMillis), Full: true, Tail: "."})
	case p.Phase == event.PhaseGathering:
		s.Add("Places are fixed already: everybody keeps the number.")
	}
}

func cancelled(s *change.Says, was, next zone.Settings, gathered string) {
	switch p := was.EventState.Now; p.Phase {
	case event.PhaseAnnounced:
		s.Warn("%s does not take place.", p.Event.Name)
	case event.PhaseGathering:
		s.Warn("%s does not take place.", p.Event.Name)
		freed(s, "", next, gathered, " To keep them waiting, hold it instead.")
		if p.Order == event.OrderDraw {
			s.Add("They keep the order of the draw.")
		}
	default:
		s.Warn("%s ends now: the settings of before it hold again.", p.Event.Name)
	}
	s.Add("This cannot be undone; the event can be listed anew, for another time or under another name.")
}

// freed adds what becomes of those who gathered for what does not take place; instead is what could be done.
func freed(s *change.Says, before string, next zone.Settings, gathered, instead string) {
	switch force := next.InForce(); {
	case force.Mode == zone.ModeOpen:
		s.Warn("%sThose who wait (%s) are let in from now on, whatever the limit.%s", before, gathered, instead)
	case force.PerMinute == 0:
		s.Add("%sThose who wait (%s) keep their places. The limit is 0, so nobody is let in.", before, gathered)
	default:
		s.Warn("%sThose who wait (%s) are let in from now on, at %s a minute.%s", before, gathered, count(next.PerMinute), instead)
	}
}

// timeRows are the moments of an occurrence whose times change. next is nil if it is over.
func timeRows(was, next *event.Progress) (all []timeRow) {
	for _, step := range moments {
		if before, after := rowTimeOf(was, step), rowTimeOf(next, step); before != after {
			all = append(all, timeRow{labelOf(was, step), before, after})
		}
	}
	return all
}

// rowTimeOf is when a moment of an occurrence is. p is nil for one that is over.
func rowTimeOf(p *event.Progress, step event.Step) rowTime {
	var at int64
	if p != nil {
		at = atOf(p, step)
	}
	switch {
	case at == 0:
		return rowTime{Word: "none"}
	case at != event.Never:
		return rowTime{Time: time.UnixMilli(at)}
	case step == settles:
		return rowTime{Word: "with the opening"}
	default:
		return rowTime{Word: "held"}
	}
}

// capitalFault has a fault begin as a sentence does, unless it begins with a name.
func capitalFault(fault string) string {
	for step, noun := range change.Nouns {
		if rest, ok := strings.CutPrefix(fault, string(step)+" "); ok {
			return capital(noun) + " " + rest
		}
	}
	if fault[0] >= 'a' && fault[0] <= 'z' {
		return capital(fault)
	}
	return fault
}
