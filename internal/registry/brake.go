package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// brakeAfter is how long the store may take for a change that tightens a zone. After that this server holds the
	// zone's visitors. It is less than the second within which the change must be in force.
	brakeAfter = 500 * time.Millisecond
	// keepEvery is how often a store that did not take a brake is tried again.
	keepEvery = 250 * time.Millisecond
)

// brake is a change that tightens a zone and that the store has not taken yet. It is in force on this server all the
// same: the server goes by its settings. The store still goes by the old settings, so it is asked nothing about the
// zone until it has taken the change.
type brake struct {
	// was are the settings that the store had when the change was made. now are the settings that it is to have.
	was, now zone.Settings
	by       string
	since    time.Time
	// why is the error with which the store did not take the change. Nil: it has not answered yet.
	why atomic.Pointer[error]
	// keeping has all callers of keep share one try. trying: a try of keepAll is under way.
	keeping background.Shared
	trying  atomic.Bool
}

// holds reports whether the store is asked nothing about the zone until it has taken the brake.
func (b *brake) holds(now time.Time) bool {
	return b.why.Load() != nil || now.Sub(b.since) >= brakeAfter
}

// on applies the brake to the settings that the store has now, which other servers may have changed meanwhile. The
// tighter limit and the tighter mode hold. Of all other settings, those that others changed meanwhile hold.
func (b *brake) on(s zone.Settings) zone.Settings {
	next, _ := zone.Table.Merge(s, b.was, b.now)
	next.PerMinute, next.Mode = b.now.PerMinute, b.now.Mode
	if s.PerMinute != b.was.PerMinute && (b.now.PerMinute == b.was.PerMinute || s.PerMinute < b.now.PerMinute) {
		next.PerMinute = s.PerMinute
	}
	if s.Mode != b.was.Mode && (b.now.Mode == b.was.Mode || tightness(s.Mode) > tightness(b.now.Mode)) {
		next.Mode = s.Mode
	}
	return next
}

// tightness orders modes by how few they let in.
func tightness(m zone.Mode) int {
	return slices.Index([]zone.Mode{zone.ModeOpen, zone.ModeQueue, zone.ModeClosed}, m)
}

// tightens reports whether a change lets in fewer, and nobody more.
func tightens(was, now zone.Settings) bool {
	was, now = was.InForce(), now.InForce()
	limit := cmp.Compare(was.PerMinute, now.PerMinute)
	mode := cmp.Compare(tightness(now.Mode), tightness(was.Mode))
	held := was.OnStoreFailure == zone.FailureAdmit && now.OnStoreFailure == zone.FailureHold
	freed := was.OnStoreFailure == zone.FailureHold && now.OnStoreFailure == zone.FailureAdmit
	return limit >= 0 && mode >= 0 && !freed && (limit > 0 || mode > 0 || held)
}

// putBraking changes a zone that this server knows. If the change is a brake, it is in force on this server until the
// store has taken it.
func (r *Registry) putBraking(ctx context.Context, z *remembered, s zone.Settings, was *zone.Settings, by string) (bool, error) {
	pending := z.brake.Load()
	var away error
	if pending != nil {
		if away = r.keep(ctx, z, pending); away == nil {
			pending = nil
		}
	}
	b, err := r.apply(z, s, was, by, pending)
	if err != nil {
		return false, err
	}
	created := false
	if err = away; err == nil {
		created, err = r.putZone(ctx, s, was, by)
	}
	switch {
	case b == nil:
		return created, err
	case err == nil:
		r.release(z, b)
		return created, nil
	case refused(err):
		r.release(z, b)
		return false, err
	}
	r.log.Error("a change is in force on this server alone: the store does not take it, and is tried again until it does",
		"zone", s.ZoneID, "by", by, "settings", s, "error", err)
	b.why.Store(&err)
	return false, nil
}

// refused reports whether err says that the store refused the change, rather than that it did not answer.
func refused(err error) bool {
	return errors.Is(err, line.ErrZoneChanged) || errors.Is(err, line.ErrZoneDeleted) ||
		errors.Is(err, line.ErrZoneUnknown) || errors.Is(err, zone.ErrInvalid)
}

// apply puts a brake into force and returns it; nil if the change is no brake. Where another brake is pending, a change
// back to the settings of the store counts as a brake, too: so an operator can take a pending brake back.
func (r *Registry) apply(z *remembered, s zone.Settings, was *zone.Settings, by string, pending *brake) (*brake, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if was != nil && !was.Equal(*z.settings.Load()) {
		if pending != nil {
			return nil, fmt.Errorf("registry: put zone: %w", line.ErrZoneChanged)
		}
		return nil, nil // the store may have newer settings, and decides
	}
	base := *z.stored.Load()
	if s.Validate() != nil || !tightens(base, s) && (pending == nil || !s.Equal(base)) {
		return nil, nil
	}
	b := &brake{was: base, now: s, by: by, since: r.now()}
	z.apply(b)
	return b, nil
}

// release ends a brake, unless another has taken its place.
func (r *Registry) release(z *remembered, b *brake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if z.brake.Load() == b {
		z.apply(nil)
	}
}

// keep has the store take a brake, applied to what others have changed meanwhile.
func (r *Registry) keep(ctx context.Context, z *remembered, b *brake) error {
	return r.share(ctx, &b.keeping, func(ctx context.Context) error {
		id := b.now.ZoneID
		is, err := r.present(ctx, z)
		if next := b.on(is); err == nil && !next.Equal(is) {
			_, err = r.write(ctx, next, &is, b.by)
			is = next
		}
		switch {
		case err == nil:
			r.remember(is, false)
			r.release(z, b)
			r.log.Info("a change that was in force on this server alone is in the store", "zone", id, "settings", is)
		case errors.Is(err, line.ErrZoneDeleted):
			r.forget(z)
			r.release(z, b)
		default:
			b.why.Store(&err)
			return fmt.Errorf("registry: keep a change: %w", err)
		}
		return nil
	})
}

// keepAll has the store asked again to take each brake that it did not take. Zones do not wait for one another: each
// may lie on another node.
func (r *Registry) keepAll(ctx context.Context) {
	for _, z := range *r.zones.Load() {
		if b := z.brake.Load(); b != nil && b.why.Load() != nil {
			r.background.GoAlone(&b.trying, func() { _ = r.keep(ctx, z, b) }) // NotKept returns the error
		}
	}
}

// NotKept returns nil if the store has every change that is in force on this server. Else it returns one error for each
// zone that has a brake, with what the store said. Other servers do not know of such a change, and it is lost with this
// process.
func (r *Registry) NotKept() error {
	zones := *r.zones.Load()
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(zones)) {
		if b := zones[id].brake.Load(); b != nil && b.why.Load() != nil {
			errs = append(errs, fmt.Errorf("zone %s is so on this server alone: %w", id, *b.why.Load()))
		}
	}
	return errors.Join(errs...)
}
