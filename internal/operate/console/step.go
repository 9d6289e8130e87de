package console

import (
	"cmp"
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
	// soonest in a form asks for the earliest time that is allowed; soonestMargin is for who
	// confirms it, in milliseconds.
	soonest       = "soonest"
	soonestMargin = 15_000
	// noticed is how long before places are fixed the opening can no longer take that with
	// it, in milliseconds: see event.State.Move.
	noticed = 2_000
)

// stepAskView is the page, or the dialog, that says what holding, moving or skipping a step
// will do, and asks.
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

// stepAsk is GET /console/zones/{zoneId}/schedule/{event}/steps/{step}: what do=hold, skip or
// move would do, to the time to, or by so many seconds. It changes nothing.
func (c *Console) stepAsk(w http.ResponseWriter, r *http.Request, s session, current zone.Settings, e event.Event) error {
	step, q, now := event.Step(r.PathValue("step")), r.URL.Query(), c.clock(current.ZoneID)
	v := stepAskView{
		Path: eventPath(current.ZoneID, e.Name), Action: eventPath(current.ZoneID, e.Name) + "/steps/" + url.PathEscape(string(step)),
		Do: q.Get("do"), Seen: seenOf(current, e.Name, step),
	}
	to, fault := moveTo(q, current.EventState.Now, step, now)
	next := current
	if fault == "" {
		next, fault = operator.Stepped(current, e.Name, step, operator.StepChange(v.Do), to, now)
	}
	if fault != "" {
		v.Title, v.Faults = "This cannot be done", []string{capitalFault(fault) + "."}
		return c.render(w, http.StatusUnprocessableEntity, "step", s, v.Title, v)
	}
	v.To = to.UTC().Format(time.RFC3339)
	v.Title, v.Button = fmt.Sprintf("%s %s of %s?", capital(v.Do), change.Nouns[step], e.Name), capital(v.Do)+" "+change.Nouns[step]
	v.Effects = c.stepSays(current, next, step, operator.StepChange(v.Do), now)
	v.Times = timeRows(current.EventState.Now, next.EventState.Now)
	return c.render(w, http.StatusOK, "step", s, v.Title, v)
}

// stepDo is POST .../steps/{step}: does what was confirmed, if the step's time is what it was.
func (c *Console) stepDo(w http.ResponseWriter, r *http.Request, s session) error {
	step, form := event.Step(r.PathValue("step")), r.PostForm
	var to time.Time
	if form.Get("do") == string(operator.StepMove) {
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
		next, err := c.Zones.StepFrom(r.Context(), current, e.Name, step, operator.StepChange(form.Get("do")), to, s.who)
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
	return fmt.Sprintf("%d.%t.%d", at, made, p.ListedMillis)
}

// moveTo is the time to which a step is to be moved: zero if it is not to be.
func moveTo(q url.Values, p *event.Progress, step event.Step, now time.Time) (to time.Time, fault string) {
	if q.Get("do") != string(operator.StepMove) {
		return to, ""
	}
	if p == nil || !slices.Contains(event.Steps, step) {
		return now, "" // Stepped says what is wrong
	}
	at, _ := p.Step(step)
	from := time.UnixMilli(at)
	if at == event.Never || at == 0 {
		from = now.Truncate(time.Second)
	}
	switch by := q.Get("by"); {
	case by == soonest:
		return time.UnixMilli(now.UnixMilli() + noticeMillis(p, step, now) + soonestMargin).Truncate(time.Second), ""
	case by != "":
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

// noticeMillis is how long before it an opening must be known.
func noticeMillis(p *event.Progress, step event.Step, now time.Time) int64 {
	if step != event.StepOpens || p.Phase != event.PhaseGathering || p.SettlesAtMillis <= now.UnixMilli()+noticed {
		return 0
	}
	return cmp.Or(p.Event.DrawClosesSeconds, event.DefaultDrawClosesSeconds)*1000 + noticed
}

// stepSays says what will happen.
func (c *Console) stepSays(was, next zone.Settings, step event.Step, how operator.StepChange, now time.Time) change.Says {
	var all change.Says
	p := was.EventState.Now
	gathered := c.gathered(was)
	switch how {
	case operator.StepHold:
		held(&all, p, step, gathered, now)
	case operator.StepSkip:
		skipped(&all, was, next, step, gathered)
	default:
		moved(&all, p, next.EventState.Now, step, now)
	}
	if after := next.EventState.Now; after != nil && (step == event.StepOpens || step == event.StepPreQueue) && how != operator.StepSkip {
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

func skipped(s *change.Says, was, next zone.Settings, step event.Step, gathered string) {
	p := was.EventState.Now
	switch step {
	case event.StepOpens:
		s.Warn("%s does not take place this time.", p.Event.Name)
		if p.Phase == event.PhaseGathering {
			freed(s, "", next, gathered, " To keep them waiting, hold it instead.")
			if p.Order == event.OrderDraw {
				s.Add("They keep the order of the draw.")
			}
		}
		if p.Event.Recurs != "" {
			s.Add("It comes again: %s.", p.Event.Recurs)
		}
	case event.StepPreQueue:
		s.Warn("Nobody gathers. Until the opening the zone goes on as it is: who comes is let in at its limit.")
	case event.StepCloses:
		s.Add("Newcomers go on being taken after it.")
	case event.StepEnds:
		s.Warn("The settings of the event stay, until somebody changes them or the next event does.")
	}
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
