package conformance

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// zoneStories: zones are made, changed, deleted, lost and restored.
var zoneStories = map[string]func(*story){
	"all zones are listed, by id": func(s *story) {
		s.fails("ping", s.store().Ping(s.t.Context()), nil)
		var all []zone.Settings
		for _, id := range []string{"a", "B", "_", "zone.10", "zone-9"} {
			z := zone.Defaults(id)
			if _, err := s.store().PutZone(s.t.Context(), z, nil, audit.By{}); err != nil {
				s.t.Fatal(err)
			}
			all = append(all, z)
		}
		slices.SortFunc(all, func(a, b zone.Settings) int { return strings.Compare(a.ZoneID, b.ZoneID) })
		got, err := s.store().Zones(s.t.Context())
		if err != nil || !slices.EqualFunc(got, all, zone.Settings.Equal) {
			s.t.Fatalf("zones %+v, %v, want %+v", got, err, all)
		}
	},

	"a change is refused when another came before": func(s *story) {
		s.full()
		read := s.model.settings
		mine, theirs := read, read
		mine.PerMinute, theirs.PerMinute = 20, 30
		ctx, store := s.t.Context(), s.store()
		created, err := store.PutZone(ctx, theirs, &read, audit.By{})
		if created || err != nil {
			s.t.Fatalf("theirs: created %t, %v", created, err)
		}
		s.model.change(theirs, s.raw())
		s.note("", &read, &theirs)
		for _, late := range []zone.Settings{mine, theirs} {
			_, err = store.PutZone(ctx, late, &read, audit.By{Name: "late"})
			s.fails("late", err, line.ErrZoneChanged)
		}
		s.changes()
		s.list(theirs)
		s.poll("first")
	},

	"settings that make no sense are refused": func(s *story) {
		s.full()
		bad := s.model.settings
		bad.PerMinute = -1
		_, err := s.store().PutZone(s.t.Context(), bad, nil, audit.By{})
		s.fails("put", err, zone.ErrInvalid)
		s.fails("restore", s.store().RestoreZone(s.t.Context(), bad, line.Memory{}), zone.ErrInvalid)
		s.list(s.model.settings)
	},

	"zones do not touch each other": func(s *story) {
		s.full()
		s.join("a").waits(1)
		other := zone.Defaults("OTHER")
		other.PerMinute = 600
		if _, err := s.store().PutZone(s.t.Context(), other, nil, audit.By{}); err != nil {
			s.t.Fatal(err)
		}
		for _, v := range append(names("v", 40), "a", "first") {
			a, err := s.store().Join(s.t.Context(), "OTHER", visitorID(v))
			if err != nil || a.Status != line.Admitted {
				s.t.Fatalf("%s to the other zone: %+v, %v", v, a, err)
			}
		}
		s.poll("a").waits(1)
		if err := s.store().DeleteZone(s.t.Context(), "OTHER", audit.By{}); err != nil {
			s.t.Fatal(err)
		}
		s.poll("a").waits(1)
	},

	"a visitor is found in the line, aside and inside, and to look is no poll": func(s *story) {
		s.zone(func(z *zone.Settings) { z.MaxInside, z.IdleTimeoutSeconds, z.KeepPlaceSeconds = 5, 20, 60 })
		s.full()
		moved := int64(0)
		find := func(who string, want line.Found) {
			s.t.Helper()
			got, err := s.store().FindVisitor(s.t.Context(), s.zoneID, line.Admission{ID: visitorID(who), AtMillis: moved})
			s.same("find "+who, got, want, err)
		}
		in := s.answers["first"]
		first := line.Found{AdmittedAtMillis: in.AdmittedAtMillis, ExpiresAtMillis: in.ExpiresAtMillis, InsideUntilMillis: in.ExpiresAtMillis}
		find("first", first)
		s.join("a").waits(1)
		s.join("b").waits(2)
		its := s.tokens["b"]
		find("b", line.Found{Position: 2, ArrivedAtMicros: its.ArrivedAtMicros, PolledAtMillis: s.model.now})
		find("nobody", line.Found{})
		s.zone(func(z *zone.Settings) { z.PerMinute = 0 })
		for range 3 {
			s.after(10 * time.Second)
			s.poll("a").waits(1)
			find("b", line.Found{Position: 2, ArrivedAtMicros: its.ArrivedAtMicros, PolledAtMillis: its.ArrivedAtMicros / 1000})
		}
		s.equal("swept", s.sweep(), int64(1))
		find("b", line.Found{ArrivedAtMicros: its.ArrivedAtMicros, AsideAtMillis: s.model.now})

		// The visit of the one inside moves to another device.
		moved = in.AdmittedAtMillis + 1
		of := line.Admission{ID: visitorID("first"), AtMillis: moved}
		_, err := s.store().Report(s.t.Context(), s.zoneID, line.SessionReport{Stays: []line.Stay{{Admission: of, LeftMillis: 60_000, Moved: true}}})
		until := s.model.now + 60_000
		s.same("moved", err, error(nil), nil)
		find("first", line.Found{AdmittedAtMillis: moved, InsideUntilMillis: until})
		in.AdmittedAtMillis = moved

		// As operators give places up: by what was found. Of one inside that is no arrival.
		s.join("c").waits(2)
		for who, p := range map[string]line.Place{
			"b": {ArrivedAtMicros: its.ArrivedAtMicros}, "a": {ArrivedAtMicros: s.tokens["a"].ArrivedAtMicros},
			"first": {ArrivedAtMicros: 1000 * in.AdmittedAtMillis, AdmittedAtMillis: in.AdmittedAtMillis},
		} {
			p.ID = visitorID(who)
			for range 2 {
				s.fails("leave", s.store().Leave(s.t.Context(), s.zoneID, p), nil)
			}
		}
		find("first", line.Found{AdmittedAtMillis: moved})
		moved = 0
		find("b", line.Found{})
		find("a", line.Found{})
		find("first", line.Found{})
		find("c", line.Found{Position: 1, ArrivedAtMicros: s.tokens["c"].ArrivedAtMicros, PolledAtMillis: s.model.now})
	},
}

// allFail: whatever is asked of the zone has that error.
func (s *story) allFail(want error) {
	s.t.Helper()
	ctx, store, p := s.t.Context(), s.store(), line.Place{ID: visitorID("a"), ArrivedAtMicros: 1}
	calls := map[string]func(context.Context) error{
		"join":    func(ctx context.Context) error { _, err := store.Join(ctx, s.zoneID, p.ID); return err },
		"poll":    func(ctx context.Context) error { _, err := store.Poll(ctx, s.zoneID, p); return err },
		"leave":   func(ctx context.Context) error { return store.Leave(ctx, s.zoneID, p) },
		"zone":    func(ctx context.Context) error { _, err := store.Zone(ctx, s.zoneID); return err },
		"observe": func(ctx context.Context) error { _, err := store.Observe(ctx, s.zoneID, 1); return err },
		"find": func(ctx context.Context) error {
			_, err := store.FindVisitor(ctx, s.zoneID, line.Admission{ID: p.ID})
			return err
		},
		"sweep":  func(ctx context.Context) error { _, err := store.Sweep(ctx, s.zoneID, "one", 0); return err },
		"hold":   func(ctx context.Context) error { return store.HoldSweeps(ctx, s.zoneID, "one", time.Minute) },
		"delete": func(ctx context.Context) error { return store.DeleteZone(ctx, s.zoneID, audit.By{}) },
	}
	for name, call := range calls {
		s.fails(name, call(ctx), want)
	}
	z := zone.Defaults(s.zoneID)
	_, err := store.PutZone(ctx, z, &z, audit.By{})
	s.fails("change", err, line.ErrZoneChanged)
}

// list: the store has these zones, and the one of the story among them.
func (s *story) list(want ...zone.Settings) {
	s.t.Helper()
	got, err := s.store().Zones(s.t.Context())
	if err != nil || !slices.EqualFunc(got, want, zone.Settings.Equal) {
		s.t.Fatalf("zones %+v, %v, want %+v", got, err, want)
	}
	for _, z := range want {
		got, err := s.store().Zone(s.t.Context(), z.ZoneID)
		if err != nil || !got.Equal(z) {
			s.t.Fatalf("zone %+v, %v, want %+v", got, err, z)
		}
	}
}
