package steer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pilot"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

const (
	// HoldFor is how long the autopilot waits after a change by somebody else.
	HoldFor = 10 * time.Minute
	// NoSignalAfter is how long nothing has been seen of a site for the autopilot to say so.
	NoSignalAfter = 30 * time.Second
	// every is how often a server looks whether a slot has ended.
	every = time.Second
	// readAfter is how long after the end of a slot the looks of all servers are read: each has shared its own by then.
	readAfter = 2 * time.Second
	// hour is how many looks are remembered, for people.
	hour = int(time.Hour / pilot.Every)
	// mostSteps is how many steps View returns.
	mostSteps = 200
	// within bounds the calls of one look.
	within = 3 * time.Second
)

// Meter counts what the autopilot does.
type Meter interface {
	// PilotStep counts a step that this server made, or advised, by its reason.
	PilotStep(zoneID, why string)
	// PilotSignal takes for how long nothing was seen of a zone's site; 0 while there is a signal, or nothing to steer.
	PilotSignal(zoneID string, away time.Duration)
}

// Options of a Steer. All but Source and Logger are required.
type Options struct {
	Zones *zones.Zones
	// Keep is for how long steps are kept.
	Keep time.Duration
	// Source tells of a zone's site, in place of what the gateway in the box sees. May be nil.
	Source func(ctx context.Context, zoneID string) (pilot.Look, error)
	Meter  Meter
	Logger *slog.Logger
}

// Steer is the autopilot of all zones. It is safe for concurrent use.
type Steer struct {
	Options
	// name tells this server's looks from those of others.
	name       string
	mu         sync.Mutex
	zones      map[string]*steered
	looks      sync.WaitGroup
	background background.Group
}

// steered is a zone with an autopilot. The Steer's mu guards all but the tally.
type steered struct {
	tally pilot.Tally
	// looking: a look has begun, and not ended.
	looking bool
	// slot is the one that runs, began the first whole one, own what this server saw in the one before, unread: nobody has decided by that yet.
	slot, began int64
	own         []byte
	unread      bool
	// few are the answers of all servers that are too few for a look, which goes on until there are enough. looks are those of the last hour.
	few   pilot.Look
	looks []pilot.Sight
	// last is when an answer was seen, since from when on looks count: the step before, or the end of a time without answers.
	last, since int64
	// was are the settings as last seen; knows: the record was read, so that heldUntil holds.
	was       zone.Settings
	knows     bool
	heldUntil int64
	// advised is the last step that would have been made; kept is when the last step was made that this server has had stored.
	advised zone.PilotStep
	kept    int64
	state   State
}

// New returns a Steer. Call Start before use and Stop after.
func New(o Options) *Steer {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Steer{Options: o, name: strings.ReplaceAll(uuid.NewString(), "-", "")[:8], zones: map[string]*steered{}}
}

// Start steers in the background until Stop.
func (s *Steer) Start(ctx context.Context) {
	s.background.Start(ctx, background.Every(every, s.begin))
}

// Stop ends what Start began, and waits for it.
func (s *Steer) Stop() {
	s.background.Stop()
	s.looks.Wait()
}

// Saw takes in an answer of a site to a visitor with a session: after which time it began, 0 if it never did, and whether it failed.
func (s *Steer) Saw(zoneID string, session [16]byte, first time.Duration, failed bool) {
	s.mu.Lock()
	z := s.zones[zoneID]
	s.mu.Unlock()
	if z != nil {
		z.tally.Add(session, first, failed)
	}
}

// RunOnce does once what Start has done again and again, and waits until it is done.
func (s *Steer) RunOnce(ctx context.Context) {
	s.begin(ctx)
	s.looks.Wait()
}

// begin begins a look at each zone at which no earlier one still looks. Zones whose site, source or store is slow delay no other.
func (s *Steer) begin(ctx context.Context) {
	all, err := s.Zones.Zones(ctx)
	if err != nil {
		return // the log of package zones says why
	}
	there := map[string]bool{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, is := range all {
		if is.Pilot == zone.PilotOff {
			continue
		}
		there[is.ZoneID] = true
		z := s.zones[is.ZoneID]
		if z == nil {
			z = &steered{was: is}
			s.zones[is.ZoneID] = z
		}
		if z.looking {
			continue
		}
		z.looking = true
		s.looks.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, within)
			defer cancel()
			err := s.look(ctx, z, is)
			s.set(func() {
				z.looking = false
				if err != nil {
					z.state = StateStore
					s.Logger.Debug("the autopilot waits", "zone", is.ZoneID, "error", err)
				}
			})
		})
	}
	for id := range s.zones {
		if !there[id] {
			delete(s.zones, id)
			s.Meter.PilotSignal(id, 0)
		}
	}
}

// look takes in a change of the settings, shares what was seen when a slot has ended, and decides by what all servers saw. One look at a zone at a
// time writes to z, so that its reads need no lock.
func (s *Steer) look(ctx context.Context, z *steered, is zone.Settings) error {
	now := s.Zones.NowMillis(is.ZoneID)
	if now == 0 { // the store is away, or was not heard of yet
		s.set(func() { z.state = StateStore })
		return nil
	}
	if err := s.hears(ctx, z, is, now); err != nil {
		return err
	}
	millis := pilot.Every.Milliseconds()
	slot := now / millis
	if z.slot == 0 {
		z.tally.Take(now) // of a part of a slot
		s.set(func() { z.slot, z.began, z.last = slot, slot+1, now })
	}
	if slot > z.slot {
		own := s.seen(ctx, z, is.ZoneID, slot*millis)
		s.set(func() { z.slot, z.own, z.unread = slot, own, slot > z.began })
		if z.unread {
			if _, err := s.Zones.Share(ctx, is.ZoneID, slot-1, s.name, z.own); err != nil {
				return err
			}
		}
	}
	if !z.unread || now < slot*millis+readAfter.Milliseconds() {
		return nil
	}
	texts, err := s.Zones.Share(ctx, is.ZoneID, slot-1, s.name, z.own)
	if err != nil {
		return err
	}
	stats, err := s.Zones.Stats(ctx, is.ZoneID)
	if err != nil {
		return err
	}
	var all pilot.Look
	for _, text := range texts {
		var l pilot.Look
		if json.Unmarshal(text, &l) == nil { // else of a version that says more
			all = pilot.Join(all, l)
		}
	}
	inside := stats.State.Inside
	if steers(is) == perMinute {
		inside = stats.State.InMinute
	}
	s.set(func() { z.unread = false; z.saw(all, slot*millis, inside, now) })
	return s.decide(ctx, z, is, now)
}

// saw takes in what all servers saw in the slot that ended at a time.
func (z *steered) saw(l pilot.Look, at, inside, now int64) {
	if !l.Told && l.Answers == 0 {
		return
	}
	if now-z.last >= NoSignalAfter.Milliseconds() {
		z.since, z.few = at-pilot.Every.Milliseconds(), pilot.Look{}
	}
	z.last = now
	z.few = pilot.Join(z.few, l)
	if one, ok := z.few.Seen(); ok {
		one.Inside = inside
		z.looks, z.few = append(z.looks[max(0, len(z.looks)-hour+1):], one), pilot.Look{}
	}
}

// set changes what View reads.
func (s *Steer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// seen is what this server saw in the slot that ended.
func (s *Steer) seen(ctx context.Context, z *steered, zoneID string, at int64) []byte {
	l := z.tally.Take(at)
	if s.Source != nil {
		told, err := s.Source(ctx, zoneID)
		if err != nil {
			s.Logger.Debug("no signal of the site", "zone", zoneID, "error", err)
		}
		l = told
	}
	l.AtMillis = at
	text, _ := json.Marshal(l) // numbers that are finite, which never fail
	return text
}

// hears holds the autopilot after a change by somebody else, and has a step stored that it has not heard of before. When a server begins, the record
// says who changed the zone last.
func (s *Steer) hears(ctx context.Context, z *steered, is zone.Settings, now int64) error {
	if !z.knows {
		changes, err := s.Zones.Changes(ctx, is.ZoneID)
		if err != nil {
			return err
		}
		held := int64(0)
		for _, c := range changes {
			if c.Was == nil || c.Now == nil || !c.Now.SamePilot(*c.Was) {
				break
			}
			if c.Now.PilotHeldBy(*c.Was) {
				held = c.AtMillis + HoldFor.Milliseconds()
				break
			}
		}
		s.set(func() { z.knows, z.heldUntil = true, held })
	}
	if !is.Equal(z.was) {
		s.set(func() {
			switch {
			case !is.SamePilot(z.was):
				z.heldUntil = 0
			case is.PilotHeldBy(z.was):
				z.heldUntil = now + HoldFor.Milliseconds()
			}
			z.was = is
		})
	}
	if last := is.PilotState; last.AtMillis > z.kept {
		if err := s.keep(ctx, is.ZoneID, last); err != nil {
			return err
		}
		z.kept = last.AtMillis
	}
	return nil
}

const (
	maxInside = "maxInside"
	perMinute = "perMinute"
)

// steers is what the autopilot sets, or would set: the cap, where sessions are counted.
func steers(is zone.Settings) string {
	if is.Pilot == zone.PilotSteer || is.MaxInside > 0 && is.InsideBy == zone.InsideBySession {
		return maxInside
	}
	return perMinute
}

// decide makes the step that the rule asks for, or advises it.
func (s *Steer) decide(ctx context.Context, z *steered, is zone.Settings, now int64) error {
	inForce := is.InForce()
	away := time.Duration(now-z.last) * time.Millisecond
	state := StateOn
	switch {
	case inForce.PerMinute == 0, inForce.Mode == zone.ModeOpen, is.SiteGate == zone.GateObserve, is.Gate().Holds(now):
		state = StatePaused
	case away >= NoSignalAfter:
		state = StateNoSignal
	case is.Pilot == zone.PilotSteer && now < z.heldUntil:
		state = StateHeld
	}
	if state == StatePaused || away < NoSignalAfter {
		away = 0
	}
	s.Meter.PilotSignal(is.ZoneID, away)
	s.set(func() { z.state = state })
	if state != StateOn {
		return nil
	}
	of, last, limit := steers(is), is.PilotState, is.MaxInside
	if of == perMinute {
		limit = is.PerMinute
	}
	if is.Pilot == zone.PilotAdvise {
		last = z.advised
	}
	if last.AtMillis > z.since {
		z.since, z.few = last.AtMillis, pilot.Look{}
	}
	step, ok := pilot.Decide(&is, last, limit, z.looks, z.since, now)
	step.Of = of
	switch {
	case !ok:
		return nil
	case is.Pilot == zone.PilotAdvise:
		step.AtMillis = now - now%pilot.Every.Milliseconds() // on all servers, so that one is kept
		if step.Advice = true; step.To == z.advised.To && step.Why == z.advised.Why && step.From == z.advised.From {
			return nil
		}
		s.set(func() { z.advised = step })
		s.made(is.ZoneID, step)
		return s.keep(ctx, is.ZoneID, step)
	}
	next := is
	next.MaxInside, next.PilotState = step.To, step
	if _, err := s.Zones.PutZone(ctx, next, &is, zone.ByPilot); errors.Is(err, line.ErrZoneChanged) {
		return nil // by another server, or an operator; the next look sees that
	} else if err != nil {
		return err
	}
	s.made(is.ZoneID, step)
	return nil
}

// made says that this server made a step.
func (s *Steer) made(zoneID string, step zone.PilotStep) {
	s.Logger.Info("autopilot", "zone", zoneID, "step", step.String())
	s.Meter.PilotStep(zoneID, string(step.Why))
}

// stepsOf is under which name the steps of a zone are kept. No zone has such a name.
func stepsOf(zoneID string) string { return zoneID + "~pilot" }

// keep stores a step. Of one that all servers store one is kept.
func (s *Steer) keep(ctx context.Context, zoneID string, step zone.PilotStep) error {
	text, err := json.Marshal(step)
	if err != nil {
		return fmt.Errorf("steer: %w", err)
	}
	return s.Zones.KeepMinutes(ctx, stepsOf(zoneID), s.Keep, []store.Minute{{
		Minute: step.AtMillis / time.Minute.Milliseconds(), By: "s" + strconv.FormatInt(step.AtMillis%time.Minute.Milliseconds(), 10), Row: text,
	}})
}

// steps are those of the last day, the newest first, at most mostSteps.
func (s *Steer) steps(ctx context.Context, zoneID string, now int64) ([]zone.PilotStep, error) {
	minute := now / time.Minute.Milliseconds()
	rows, err := s.Zones.Minutes(ctx, stepsOf(zoneID), minute-store.MinutesOfDay, minute+2)
	if err != nil {
		return nil, err
	}
	all := make([]zone.PilotStep, 0, len(rows))
	for _, row := range rows {
		var one zone.PilotStep
		if json.Unmarshal(row.Row, &one) == nil { // else of a version that says more
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b zone.PilotStep) int { return cmp.Compare(b.AtMillis, a.AtMillis) })
	return all[:min(len(all), mostSteps)], nil
}
