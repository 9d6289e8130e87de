package conformance

import (
	"fmt"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// recordStories: who changed a zone, and when.
var recordStories = map[string]func(*story){
	"a list has the latest thousand, and more are kept": func(s *story) {
		for i := range int64(zone.MaxChanges + 7) {
			s.zone(func(z *zone.Settings) { z.PerMinute = i })
			s.after(milli)
		}
		s.changes()
		s.equal("listed", len(s.record), zone.MaxChanges)
		for _, h := range s.stores {
			s.equal("kept", len(whole(s.t, h.Store, s.zoneID).Entries), zone.MaxChanges+7)
		}
	},

	"putting back what was lost is no change, unless it makes the zone": func(s *story) {
		s.full()
		s.lose(s.memory())
		s.changes()
		s.equal("changes", len(s.record), 0)

		s.stores[0].Store = s.stores[0].Lose(s.t)
		m := line.Memory{MadeBy: zone.ByConfig}
		for range 2 { // once is enough
			s.fails("restore", s.store().RestoreZone(s.t.Context(), s.model.settings, m), nil)
		}
		s.note(zone.ByConfig, nil, &s.model.settings)
		s.changes()
	},

	"rows of minutes stay as they were first kept, also without their zone": func(s *story) {
		s.zone(func(*zone.Settings) {})
		const day = store.MinutesOfDay
		at := s.raw()/time.Minute.Microseconds()/day*day + day // a midnight
		row := func(minute int64, by, text string) store.Minute {
			return store.Minute{Minute: minute, By: by, Row: []byte(text)}
		}
		keep := func(rows ...store.Minute) {
			s.fails("keep", s.store().KeepMinutes(s.t.Context(), s.zoneID, 30*24*time.Hour, rows), nil)
		}
		keep(row(at, "", "\x00\xff"), row(at-1, "", "b"))
		for range 2 {
			keep(row(at, "", "other"), row(at, "a1", "c"), row(at+day, "", "d"))
		}
		s.fails("delete", s.store().DeleteZone(s.t.Context(), s.zoneID, audit.By{Name: "x"}), nil)
		another := row(at-1, "", "e")
		another.Replaces = true
		keep(another)
		keep(row(at-1, "", "b"))
		got, err := s.store().Minutes(s.t.Context(), s.zoneID, at-1, at+day)
		s.same("minutes", got, []store.Minute{row(at-1, "", "e"), row(at, "", "\x00\xff"), row(at, "a1", "c")}, err)
		got, err = s.store().Minutes(s.t.Context(), s.zoneID, at+1, at+day+1)
		s.same("the next day", got, []store.Minute{row(at+day, "", "d")}, err)
		got, err = s.store().Minutes(s.t.Context(), "elsewhere", at-1, at+day)
		s.equal("elsewhere", len(got), 0)
		s.fails("elsewhere", err, nil)
	},

	"a step of the autopilot is in force and has no entry": func(s *story) {
		s.zone(func(*zone.Settings) {})
		s.model.settings.MaxInside, s.model.settings.PilotState = 70, zone.PilotStep{AtMillis: 1, From: 100, To: 70, Of: "maxInside", Why: "slow"}
		_, err := s.store().PutZone(s.t.Context(), s.model.settings, nil, zone.ByPilot)
		s.fails("put", err, nil)
		is, err := s.store().Zone(s.t.Context(), s.zoneID)
		s.same("settings", is, s.model.settings, err)
		s.changes()
	},

	"servers share what they see": func(s *story) {
		for range 2 { // of several texts the last stays
			for i, text := range []string{"old", "\x00\xff"} {
				all, err := s.store().Share(s.t.Context(), s.zoneID, 7, "a1", []byte(text))
				s.same("shared", all, [][]byte{[]byte(text)}, err)
				all, err = s.store().Share(s.t.Context(), s.zoneID, 8, "a1", []byte{byte(i)})
				s.same("another slot", all, [][]byte{{byte(i)}}, err)
			}
		}
	},

	"all zones have one record, the newest first": func(s *story) {
		var want []zone.Change
		for i, id := range []string{"b", "a", "c"} {
			z := zone.Defaults(id)
			_, err := s.store().PutZone(s.t.Context(), z, nil, audit.By{Name: fmt.Sprint(i)})
			s.fails("put", err, nil)
			now := s.raw() / 1000
			want = append([]zone.Change{{AtMillis: now, ZoneID: id, By: audit.By{Name: fmt.Sprint(i)}, Now: &z}}, want...)
			s.after(milli)
		}
		s.fails("delete", s.store().DeleteZone(s.t.Context(), "b", audit.By{Name: "x"}), nil)
		b := want[2].Now
		want = append([]zone.Change{{AtMillis: s.raw() / 1000, ZoneID: "b", By: audit.By{Name: "x"}, Was: b}}, want...)
		got, err := s.store().Changes(s.t.Context(), "")
		s.same("changes", got, want, err)
		got, err = s.store().Changes(s.t.Context(), "b")
		s.same("changes", got, []zone.Change{want[0], want[3]}, err)
		got, err = s.store().Changes(s.t.Context(), "nowhere")
		s.equal("changes, elsewhere", len(got), 0)
		s.fails("changes, elsewhere", err, nil)
	},
}
