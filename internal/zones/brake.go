package zones

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// brakeAfter is how long the store may take for a change that tightens a zone. After that this server holds the
	// zone's visitors. It is less than the second within which the change must be in force.
	brakeAfter = 500 * time.Millisecond
	// sendEvery is how often a brake that the store did not take is sent again.
	sendEvery = 250 * time.Millisecond
)

// brake is a change that tightens a zone, and that this server keeps and sends until the store has taken it. The server
// goes by it meanwhile. The store goes by the old settings, so it is asked nothing about the zone.
type brake struct {
	// was are the settings that the store had when the change was made. now are the settings that it is to have.
	was, now zone.Settings
	by       audit.By
	since    time.Time
	// why is the error with which the store did not take the change. Nil: it has not answered yet.
	why atomic.Pointer[error]
	// sending has all callers of send share one try. trying: a try of sendAll is under way.
	sending background.Shared
	trying  atomic.Bool
}

// holds reports whether the store is asked nothing about the zone until it has taken the brake.
func (b *brake) holds(now time.Time) bool {
	return b.why.Load() != nil || now.Sub(b.since) >= brakeAfter
}

// merge returns what is to be in force, where the store has settings s now. What other servers have changed meanwhile
// holds, but for what the brake tightens: of two limits the lower one is taken, of two modes the tighter. The list of events
// and how far they are belong together: where either is another, both are theirs.
func (b *brake) merge(s zone.Settings) zone.Settings {
	if s.Equal(b.was) {
		return b.now
	}
	next, _ := zone.Table.Merge(s, b.was, b.now)
	of := b.was
	if of.Events, of.EventState = s.Events, s.EventState; !of.Equal(b.was) {
		next.Events, next.EventState = s.Events, s.EventState
	}
	if next = b.tighten(next); next.Validate() != nil { // the two changes do not go together
		return b.tighten(s)
	}
	return next
}

// tighten is s with what the brake tightens.
func (b *brake) tighten(s zone.Settings) zone.Settings {
	if b.now.PerMinute != b.was.PerMinute {
		s.PerMinute = min(s.PerMinute, b.now.PerMinute)
	}
	if b.now.Mode != b.was.Mode && tightness(b.now.Mode) > tightness(s.Mode) {
		s.Mode = b.now.Mode
	}
	if b.now.OnStoreFailure != b.was.OnStoreFailure {
		s.OnStoreFailure = zone.FailureHold
	}
	if len(s.SoldOut) == 0 {
		s.SoldOut = b.now.SoldOut
	}
	if b.now.InsideState.Tightens(b.was.InsideState) {
		s.InsideState = s.InsideState.And(b.now.InsideState)
	}
	return s
}

// tightness orders modes by how few they let in.
func tightness(m zone.Mode) int {
	return slices.Index([]zone.Mode{zone.ModeOpen, zone.ModeQueue, zone.ModeClosed}, m)
}

// tightens reports whether a change admits fewer, or revokes admissions, and admits nobody more.
func tightens(was, now zone.Settings) bool {
	revokes := now.InsideState.Tightens(was.InsideState)
	was, now = was.InForce(), now.InForce()
	limit := cmp.Compare(was.PerMinute, now.PerMinute)
	mode := cmp.Compare(tightness(now.Mode), tightness(was.Mode))
	held := was.OnStoreFailure == zone.FailureAdmit && now.OnStoreFailure == zone.FailureHold
	freed := was.OnStoreFailure == zone.FailureHold && now.OnStoreFailure == zone.FailureAdmit
	return limit >= 0 && mode >= 0 && !freed && (limit > 0 || mode > 0 || held || revokes)
}

// PutZone implements store.Editor. After line.ErrZoneChanged, Zone returns the settings that the store has. A change
// that only tightens a known zone is in force on this server before the store is asked, and stays in force if the store
// does not answer: then PutZone returns no error, and NotKept does. While the store does not take that brake, another
// brake may replace it, and so may the settings of before it. Any other change waits for the store.
func (r *Zones) PutZone(ctx context.Context, s zone.Settings, was *zone.Settings, by audit.By) (created bool, err error) {
	z := r.Known(s.ZoneID)
	if z == nil {
		return r.putZone(ctx, s, was, by)
	}
	b, pending := r.putBrake(z, s, was, by)
	switch {
	case b == nil && pending != nil && was != nil && !was.Equal(*z.settings.Load()):
		return false, fmt.Errorf("zones: put zone: %w", line.ErrZoneChanged)
	case b == nil && pending != nil:
		if err := r.send(ctx, z, pending); err != nil {
			return false, err
		}
		return r.putZone(ctx, s, was, by)
	case b == nil:
		return r.putZone(ctx, s, was, by)
	case pending != nil:
		err = r.send(ctx, z, b)
	default:
		created, err = r.putZone(ctx, s, was, by)
	}
	if err == nil || refused(err) {
		r.release(z, b)
		return created, err
	}
	why := err
	r.log.Error("a change is in force on this server alone: the store does not take it, and is tried again until it does",
		"zone", s.ZoneID, "by", by.Who(), "settings", s, "error", err)
	b.why.Store(&why)
	return false, nil
}

// putBrake puts a change into force and returns it as a brake; nil if it is none, or if it was not made from the settings
// in force. pending is the brake that the store had not taken before.
func (r *Zones) putBrake(z *Zone, s zone.Settings, was *zone.Settings, by audit.By) (b, pending *brake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	base, pending := *z.stored.Load(), z.brake.Load()
	if was != nil && !was.Equal(*z.settings.Load()) || s.Validate() != nil {
		return nil, pending
	}
	if !tightens(base, s) && (pending == nil || !s.Equal(base)) {
		return nil, pending
	}
	b = &brake{was: base, now: s, by: by, since: r.now()}
	z.apply(b)
	return b, pending
}

// refused reports whether err says that the store refused the change, rather than that it did not answer.
func refused(err error) bool {
	return errors.Is(err, line.ErrZoneChanged) || errors.Is(err, line.ErrZoneDeleted) ||
		errors.Is(err, line.ErrZoneUnknown) || errors.Is(err, zone.ErrInvalid)
}

// release ends a brake, unless another has taken its place.
func (r *Zones) release(z *Zone, b *brake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if z.brake.Load() == b {
		z.apply(nil)
	}
}

// send has the store take a brake, over what others have changed meanwhile. It can be repeated.
func (r *Zones) send(ctx context.Context, z *Zone, b *brake) error {
	return r.share(ctx, &b.sending, "", func(ctx context.Context) error {
		is, err := r.present(ctx, z)
		if next := b.merge(is); err == nil && !next.Equal(is) {
			_, err = r.write(ctx, next, &is, b.by)
			is = next
		}
		switch {
		case err == nil:
			r.remember(is, false)
			r.release(z, b)
			r.log.Info("a change that was in force on this server alone is in the store", "zone", z.id, "settings", is)
		case errors.Is(err, line.ErrZoneDeleted):
			r.forget(z)
		default:
			b.why.Store(&err)
			return fmt.Errorf("zones: keep a change: %w", err)
		}
		return nil
	})
}

// sendAll has each brake sent again that the store did not take. Zones do not wait for one another: each may lie on
// another node.
func (r *Zones) sendAll(ctx context.Context) {
	for _, z := range *r.zones.Load() {
		if b := z.brake.Load(); b != nil && b.why.Load() != nil {
			r.background.GoAlone(&b.trying, func() { _ = r.send(ctx, z, b) }) // NotKept returns the error
		}
	}
}

// NotKept returns nil if the store has every change that is in force on this server. Else it returns one error for each
// zone that has a brake, with what the store said. Other servers do not know of such a change, and it is lost with this
// process.
func (r *Zones) NotKept() error {
	zones := *r.zones.Load()
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(zones)) {
		if b := zones[id].brake.Load(); b != nil && b.why.Load() != nil {
			errs = append(errs, fmt.Errorf("zone %s is so on this server alone: %w", id, *b.why.Load()))
		}
	}
	return errors.Join(errs...)
}
