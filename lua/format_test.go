package lua

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestNewerZone: nothing is written into a zone of a format that is not known, and
// the server is not ready; others are served.
func TestNewerZone(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	s, ctx := sc.store, t.Context()
	other := zone.Defaults("Y")
	put(t, s, other)
	sc.fails(s.Ping(ctx), nil)
	key := s.keys("Z")[0]
	s.client.HSet(ctx, key, formatField, zoneFormat+1)
	sc.writesNothing(func() {
		_, err := s.Join(ctx, "Z", visitor('x'))
		sc.fails(err, line.ErrFormat)
		_, err = s.Poll(ctx, "Z", sc.places['b'])
		sc.fails(err, line.ErrFormat)
		sc.fails(s.Leave(ctx, "Z", sc.places['b']), line.ErrFormat)
		_, err = s.Observe(ctx, "Z", 0)
		sc.fails(err, line.ErrFormat)
		_, err = s.Sweep(ctx, "Z", "one", 0)
		sc.fails(err, line.ErrFormat)
		_, err = s.Zone(ctx, "Z")
		sc.fails(err, line.ErrFormat)
		_, err = s.PutZone(ctx, sc.zone, nil, audit.By{})
		sc.fails(err, line.ErrFormat)
		_, err = s.putZone(ctx, "put", sc.zone, "", "{}", addition{})
		sc.fails(err, line.ErrFormat)
		sc.fails(s.RestoreZone(ctx, sc.zone, line.Memory{}), line.ErrFormat)
		sc.fails(s.DeleteZone(ctx, "Z", audit.By{}), line.ErrFormat)
	})
	zones, err := s.Zones(ctx)
	sc.fails(err, line.ErrFormat)
	if len(zones) != 1 || !zones[0].Equal(other) {
		t.Errorf("zones: %+v", zones)
	}
	err = s.Ping(ctx)
	sc.fails(err, line.ErrFormat)
	if want := fmt.Sprintf("zone Z has format %d, and this version knows formats up to %d", zoneFormat+1, zoneFormat); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not say %q", err, want)
	}
	if errors.Is(err, line.ErrStoreUnavailable) {
		t.Errorf("%v: a server would let visitors in by itself", err)
	}
	s.client.HSet(ctx, key, formatField, zoneFormat)
	if _, err := s.Zones(ctx); err != nil || s.Ping(ctx) != nil {
		t.Errorf("when it is no more: %v, %v", err, s.Ping(ctx))
	}
	sc.polls(sc.places['b'], line.Waiting)
}

// TestNewerDocument: the same for a document.
func TestNewerDocument(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	s, ctx := sc.store, t.Context()
	d := line.Document{Version: 3}
	sc.fails(s.PutDocument(ctx, audit.Limits, d, 0), nil)
	s.client.HSet(ctx, s.bookKey(audit.Limits), formatField, documentFormat+1)
	sc.writesNothing(func() {
		_, err := s.Document(ctx, audit.Limits)
		sc.fails(err, line.ErrFormat)
		sc.fails(s.Ping(ctx), line.ErrFormat)
		d.Version = 4
		sc.fails(s.PutDocument(ctx, audit.Limits, d, 3), line.ErrFormat)
	})
}

// TestNewerRecords: an entry of a newer format is not guessed at.
func TestNewerRecords(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	s, ctx := sc.store, t.Context()
	entry := fmt.Sprintf(`{"format":%d,"at":"yesterday","changes":1}`, audit.EntryFormat+1)
	s.client.LPush(ctx, s.recordKeys("Z")[0], entry)
	s.client.LPush(ctx, s.recordKeys(audit.Limits)[0], entry)
	for _, zoneID := range []string{"", "Z"} {
		_, err := s.Changes(ctx, zoneID)
		sc.fails(err, line.ErrFormat)
	}
	_, err := line.Noted(ctx, s, audit.Limits, func(*audit.Event, int64) {})
	sc.fails(err, line.ErrFormat)
}
