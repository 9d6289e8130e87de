package zone

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/event"
)

// modeKey is the setting that the step closes changes, perMinuteKey the one of a pause, maxInsideKey the one that the autopilot of pilotKey sets.
const (
	modeKey      = "mode"
	perMinuteKey = "perMinute"
	maxInsideKey = "maxInside"
	pilotKey     = "pilot"
)

// Gate is what a store goes by while an event is to come or under way.
func (s Settings) Gate() event.Gate { return s.EventState.Gate() }

// Unopened is the event that has begun and has not opened yet, and when it opens, in Unix milliseconds; "" for none, 0
// while the opening is held. The settings may not have the first step yet: gathers says that people gather by the store.
func (s *Settings) Unopened(gathers bool) (name string, opensAtMillis int64) {
	p := s.EventState.Now
	switch {
	case p == nil, p.Phase != event.PhaseGathering && (!gathers || p.Phase != event.PhaseAnnounced):
		return "", 0
	case p.OpensAtMillis == event.Never:
		return p.Event.Name, 0
	}
	return p.Event.Name, p.OpensAtMillis
}

// invitationKey is the setting that says who may join.
const invitationKey = "invitation"

// invitedBefore is how long before the event's first step its invitation begins to hold: servers hear of a step up to a
// second after it was made, and their clocks differ from the store's.
const invitedBefore = 2 * time.Second

// InvitationAt is the invitation that a visitor must have to join at a time: that of the zone, or that of an event whose
// first step is due, even if no server has made the step yet, or this one has not heard of it.
func (s *Settings) InvitationAt(now time.Time) string {
	p := s.EventState.Now
	if p == nil || p.Phase != event.PhaseAnnounced {
		return s.Invitation
	}
	of := strings.TrimSpace(p.Event.Settings[invitationKey])
	if _, at := p.Next(); of == "" || now.Add(invitedBefore).UnixMilli() < at {
		return s.Invitation
	}
	return of
}

// OpenAt reports whether the zone lets everybody through at a time. It does not while people gather for an event, nor by
// invitation.
func (s *Settings) OpenAt(now time.Time) bool {
	return s.InForce().Mode == ModeOpen && s.InvitationAt(now) == "" && !s.Gate().Holds(now.UnixMilli())
}

// By is how a step signs in the record of changes.
func By(eventName string) audit.By { return audit.By{Name: "event " + eventName, Via: audit.ViaEvent} }

// Due is the zone after the next change that is due of its events at a time of the store's clock, and the name of the
// event; ok is false if nothing is due. Another change may be due after it. commit is described at event.State.Announce.
func (s Settings) Due(now time.Time, commit func(event string) (nonce, commitment string)) (next Settings, of string, ok bool) {
	next = s
	p := s.EventState.Now
	if next.EventState, ok = s.EventState.Announce(s.Events, now, commit); ok {
		if is := next.EventState.Now; is != nil {
			p = is
		}
		return next, p.Event.Name, true
	}
	if p == nil || !p.Fixed {
		return s, "", false
	}
	if step, at := p.Next(); step != "" && at <= now.UnixMilli() {
		return s.made(step, now), p.Event.Name, true
	}
	return s, "", false
}

// made is the zone after a step.
func (s Settings) made(step event.Step, now time.Time) Settings {
	if step == event.StepEnds {
		return s.over(now)
	}
	next := s
	next.EventState = s.EventState.Made(step)
	p := next.EventState.Now
	gathered := s.EventState.Now.Phase == event.PhaseGathering
	switch {
	case step == event.StepPreQueue, step == event.StepOpens && !gathered:
		next.apply(p.Event.Settings)
	case step == event.StepCloses:
		next.apply(event.Values{modeKey: string(ModeClosed)})
	}
	return next
}

// apply sets settings by name, and keeps what they were in Before. It ignores values that are out of range, which
// Validate has refused.
func (s *Settings) apply(values event.Values) {
	p := s.EventState.Now
	before := maps.Clone(p.Before)
	if before == nil {
		before = make(event.Values)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		was := *s
		if _, kept := before[name]; s.assign(name, values[name]) && !kept {
			before[name] = Table.Find(name).Text(was)
		}
	}
	if _, kept := before[maxInsideKey]; !kept && values[pilotKey] == string(PilotSteer) { // the autopilot will set it
		before[maxInsideKey] = Table.Find(maxInsideKey).Text(*s)
	}
	if p.Before = before; len(before) == 0 {
		p.Before = nil
	}
}

// assign sets a setting that an event may have. It reports whether it could: what may not be was refused when the event was listed.
func (s *Settings) assign(name, value string) bool {
	x := Table.Find(name)
	return x != nil && x.Of == "" && x.Parse(s, value) == nil
}

// WithEvent is the zone with the settings of an event, as far as they may be.
func (s Settings) WithEvent(e event.Event) Settings {
	for name, value := range e.Settings {
		s.assign(name, value)
	}
	return s
}

// over is the zone when the event has ended. The settings that the event had changed, or the autopilot since, are as before, except those
// that somebody has changed.
func (s Settings) over(now time.Time) Settings {
	next, p := s, s.EventState.Now
	set := setBy(p)
	for _, name := range slices.Sorted(maps.Keys(p.Before)) {
		x, as := Table.Find(name), Defaults(s.ZoneID)
		steered := name == maxInsideKey && s.PilotState.AtMillis > 0 && s.PilotState.To == s.MaxInside
		if !steered && (x == nil || x.Parse(&as, set[name]) != nil || !x.Same(as, s)) {
			continue
		}
		next.assign(name, p.Before[name])
	}
	next.EventState = s.EventState.Over(s.Events, now)
	return next
}

// setBy are the settings that an event has set.
func setBy(p *event.Progress) event.Values {
	set := maps.Clone(p.Event.Settings)
	if set == nil {
		set = make(event.Values)
	}
	if p.Phase == event.PhaseClosed {
		set[modeKey] = string(ModeClosed)
	}
	return set
}

// During is s, the settings between events, as they are while the event is under way that is in is, the settings in
// force. What the servers set is as in is, and so is a setting that the event has changed where s has the value
// from before the event.
func (s Settings) During(is Settings) Settings {
	next := s
	next.EventState, next.InsideState, next.PilotState = is.EventState, is.InsideState, is.PilotState
	if is.EventState.Now == nil {
		return next
	}
	for name, before := range is.EventState.Now.Before {
		x, as := Table.Find(name), Defaults(s.ZoneID)
		if x != nil && x.Parse(&as, before) == nil && x.Same(as, s) {
			x.Take(&next, is)
		}
	}
	return next
}

// Overridden are the settings that a change from was to s has made and that the announced event sets otherwise when it
// begins. then has all settings as they are then. The event begins with step, at a time in Unix milliseconds.
func (s Settings) Overridden(was Settings) (then Settings, all []*Setting, step event.Step, atMillis int64) {
	p := s.EventState.Now
	if then = s; p == nil || p.Phase != event.PhaseAnnounced {
		return then, nil, "", 0
	}
	for _, x := range Table.Differences(was, s) {
		if value, set := p.Event.Settings[x.Name]; set && x.Parse(&then, value) == nil && !x.Same(then, s) {
			all = append(all, x)
		}
	}
	step, atMillis = p.Next()
	return then, all, step, atMillis
}

// PausedFrom is the limit to go back to after a change that set it to 0; 0 if the change did not. If the limit was that
// of an event which is over, it is the limit from before that event.
func (s *Settings) PausedFrom(was, now *Settings) int64 {
	p := was.EventState.Now
	switch {
	case now.PerMinute != 0:
		return 0
	case p == nil:
		return was.PerMinute
	}
	before, set := p.Before[perMinuteKey]
	if is := s.EventState.Now; was.PerMinute == 0 || !set || is != nil && is.Event.Name == p.Event.Name && is.Event.OpensAt == p.Event.OpensAt {
		return was.PerMinute
	}
	limit, err := strconv.ParseInt(before, 10, 64)
	if err != nil { // never: a store has written it
		return 0
	}
	return limit
}

// Cancel is the zone without the event that is fixed: it does not take place, or ends now. Those who gathered keep their
// places. fault says in a sentence why that cannot be; "" if it can.
func (s Settings) Cancel(now time.Time) (next Settings, fault string) {
	switch p := s.EventState.Now; {
	case p == nil:
		return s, "no event is to come or under way"
	case !p.Fixed:
		return s, event.NotFixed(p)
	}
	next = s.over(now)
	return next, strings.Join(next.Faults(), "; ")
}

// StepFault says which step of which event cannot be made, since the zone's settings after the step do not go together; ""
// for none. It looks at the steps to come from a time of the store's clock on, of the fixed event and of those that are listed.
func (s Settings) StepFault(now time.Time) string {
	var coming []*event.Progress
	for _, e := range s.Events {
		if p := s.EventState.Of(e, now); p != nil && !p.Fixed {
			coming = append(coming, p)
		}
	}
	slices.SortFunc(coming, func(a, b *event.Progress) int { return cmp.Compare(a.OpensAtMillis, b.OpensAtMillis) })
	if p := s.EventState.Now; p != nil && p.Fixed {
		coming = append([]*event.Progress{p}, coming...)
	}
	for _, p := range coming {
		s.EventState.Now = p
		for step, _ := p.Next(); step != ""; step, _ = p.Next() {
			s = s.made(step, now)
			if faults := Table.Check(s); len(faults) > 0 {
				return fmt.Sprintf("events %q: the zone cannot have its settings from the step %s on: %s", p.Event.Name, step, strings.Join(faults, "; "))
			}
			if p = s.EventState.Now; p == nil {
				break
			}
		}
	}
	return ""
}

// eventFault says which event has settings that may not be; "" for none.
func (s Settings) eventFault() string {
	for _, e := range s.Events {
		for _, name := range slices.Sorted(maps.Keys(e.Settings)) {
			x, as := Table.Find(name), Defaults(s.ZoneID)
			var fault string
			switch {
			case x == nil || x.Of != "":
				fault = fmt.Sprintf("%q is no setting that an event can have", name)
			case x.Parse(&as, e.Settings[name]) != nil:
				fault = name + " must be " + x.Kind()
			default:
				fault = x.Check(as)
			}
			if fault != "" {
				return fmt.Sprintf("events %q: settings: %s", e.Name, fault)
			}
		}
	}
	return ""
}

// sayEvents is the list in a few words.
func (s Settings) sayEvents() string {
	names := make([]string, len(s.Events))
	for i, e := range s.Events {
		names[i] = e.Name + " at " + e.OpensAt
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, "; ")
}

// sayEventState is the event and how far it is.
func (s Settings) sayEventState() string {
	p := s.EventState.Now
	if p == nil {
		return "none"
	}
	return p.Event.Name + ", " + string(p.Phase)
}
