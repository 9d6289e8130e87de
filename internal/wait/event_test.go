package wait_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestStateOfAnEvent: what is told of an event from its announcement until it is over, and what
// those hear who wait. The time from now is that of the store's clock.
func TestStateOfAnEvent(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	began := r.Now()
	at := func(in time.Duration) string { return began.Add(in).Format(time.RFC3339Nano) }
	r.Set(t, func(s *zone.Settings) {
		s.PerMinute = 0
		s.Events = []event.Event{{
			Name: "noon", PreQueueAt: at(time.Minute), OpensAt: at(time.Hour), ClosesAt: at(2 * time.Hour), EndsAt: at(3 * time.Hour),
			Texts: event.Texts{
				Before: zone.Texts{"default": "Soon."}, During: zone.Texts{"default": "Now."}, After: zone.Texts{"default": "It was."},
			},
		}}
	})
	for _, tt := range []struct {
		after      time.Duration
		phase      event.Phase
		text, told string
	}{
		{0, event.PhaseAnnounced, "Soon.", `"paused":true}}`},
		{time.Minute, event.PhaseGathering, "Soon.", `"paused":true,"event":{"name":"noon","opensAt":%d,"opensIn":3540000}}}`},
		{time.Hour, event.PhaseOpen, "Now.", `"paused":true}}`},
		{2 * time.Hour, event.PhaseClosed, "It was.", ""},
		{3 * time.Hour, wait.PhaseEnded, "It was.", `"paused":true}}`},
	} {
		r.Forward(began.Add(tt.after).Sub(r.Now()))
		r.Set(t, func(s *zone.Settings) {
			if next, _, due := s.Due(r.Now(), nil); due {
				*s = next
			}
		})
		var got wait.State
		w := r.Send("GET", "/traffic/zones/TEST_ZONE", "")
		room.Must(t, json.Unmarshal(w.Body.Bytes(), &got))
		if e := got.Event; e == nil || e.Phase != tt.phase || e.Text != tt.text || e.Now != r.Now().UnixMilli() {
			t.Errorf("after %v: %s, want %s, %q", tt.after, w.Body, tt.phase, tt.text)
		}
		told := tt.told
		if strings.Contains(told, "%d") {
			told = fmt.Sprintf(told, began.Add(time.Hour).UnixMilli())
		}
		if w := r.Join(tt.after.String()); told != "" && !strings.HasSuffix(strings.TrimSpace(w.Body.String()), told) {
			t.Errorf("after %v one who waits is told %s, want %s", tt.after, w.Body, told)
		}
	}
	r.Set(t, func(s *zone.Settings) { s.Events = nil })
	if w := r.Send("GET", "/traffic/zones/TEST_ZONE", ""); strings.Contains(w.Body.String(), "event") {
		t.Errorf("of an event that is not listed any more: %s", w.Body)
	}
}

// TestNewcomersOfASite: a gate that only has the state is told what to do with those who come.
func TestNewcomersOfASite(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	for _, step := range []struct {
		name   string
		change func(*zone.Settings)
		joins  int
		want   wait.Newcomers
	}{
		{"there is room", func(*zone.Settings) {}, 0, wait.NewcomersJoin},
		{"there is a line", func(*zone.Settings) {}, 3, wait.NewcomersWait},
		{"open", func(s *zone.Settings) { s.Mode = zone.ModeOpen }, 0, wait.NewcomersEnter},
		{"open, while people gather", func(s *zone.Settings) {
			opens := r.Now().Add(time.Hour).UTC().Format(time.RFC3339)
			s.Events = []event.Event{{Name: "noon", PreQueueAt: r.Now().UTC().Format(time.RFC3339), OpensAt: opens}}
			for next, _, due := s.Due(r.Now(), nil); due; next, _, due = s.Due(r.Now(), nil) {
				*s = next
			}
		}, 0, wait.NewcomersWait},
	} {
		r.Set(t, step.change)
		for i := range step.joins {
			r.Join(fmt.Sprint(step.name, i))
		}
		r.Forward(time.Second)
		var got wait.State
		room.Must(t, json.Unmarshal(r.Send("GET", "/traffic/zones/TEST_ZONE", "").Body.Bytes(), &got))
		if got.Site.Newcomers != step.want {
			t.Errorf("%s: %q, want %q", step.name, got.Site.Newcomers, step.want)
		}
	}
}
