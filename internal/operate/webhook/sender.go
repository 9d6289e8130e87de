package webhook

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	tick = time.Second
	// renewEvery is how often the server that works for a webhook writes its progress at least; a call delays that by callTimeout at
	// most.
	renewEvery = 5 * time.Second
	// takeOver is for how long nothing is written before another server takes over: renewEvery, callTimeout, and 10 s for the store.
	takeOver = renewEvery + callTimeout + 10*time.Second
	// stopTimeout is for the last write.
	stopTimeout = 2 * time.Second
)

// Zones is what is asked of *zones.Zones.
type Zones interface {
	// Settings are in force in a zone: after each change another pointer.
	Settings(zoneID string) *zone.Settings
	// Upto is the last place in a zone's line whose turn is expected by a time on its clock.
	Upto(zoneID string, millis int64) (micros int64)
	// Record returns the newest part of the record of a zone's changes, as store.Editor does.
	Record(ctx context.Context, zoneID string, skip int) (audit.Page, error)
}

// Options of a Sender.
type Options struct {
	Hooks []Hook
	// Watched are the zones, as they were seen last. One that cannot be read now is missing.
	Watched func() iter.Seq2[zone.Settings, line.Stats]
	Zones   Zones
	Store   store.Webhooks
	// Alone: no other server uses the store.
	Alone bool
	// Roots are the authorities that are trusted; nil for the system's.
	Roots *x509.CertPool
	// Now defaults to time.Now.
	Now        func() time.Time
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// Sender makes the calls of all webhooks, each in a goroutine of its own.
type Sender struct {
	workers []*worker
	group   background.Group
}

// New returns the Sender of the webhooks. A nil Sender does nothing.
func New(o Options) *Sender {
	if len(o.Hooks) == 0 {
		return nil
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	calls := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "queue_webhook_calls_total", Help: "Calls that this server has made for a webhook, by whether the receiver took them (ok) or not (failed).",
	}, []string{"webhook", "outcome"})
	lost := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "queue_webhook_lost_total", Help: "Places and changes that a webhook was not told, since the receiver took no call for an hour.",
	}, []string{"webhook", "event"})
	o.Registerer.MustRegister(calls, lost)
	s := &Sender{}
	for i := range o.Hooks {
		h := &o.Hooks[i]
		w := &worker{
			Options: o, hook: h, client: newClient(h, o.Roots), owner: uuid.NewString(),
			ok: calls.WithLabelValues(h.Name, "ok"), failed: calls.WithLabelValues(h.Name, "failed"), lost: map[string]prometheus.Counter{},
		}
		for _, name := range h.Events {
			w.lost[name] = lost.WithLabelValues(h.Name, name)
		}
		s.workers = append(s.workers, w)
	}
	return s
}

// Start begins to tell, until Stop.
func (s *Sender) Start(ctx context.Context) {
	if s == nil {
		return
	}
	runs := make([]func(context.Context), len(s.workers))
	for i, w := range s.workers {
		runs[i] = background.Every(tick, w.runOnce)
	}
	s.group.Start(ctx, runs...)
}

// Stop ends all calls, and leaves the work to other servers.
func (s *Sender) Stop(ctx context.Context) {
	if s == nil {
		return
	}
	s.group.Stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	for _, w := range s.workers {
		w.client.CloseIdleConnections()
		if w.working {
			w.progress.Owner = ""
			_ = w.save(ctx) // else another server takes over later
		}
	}
}

// worker does the work of one webhook.
type worker struct {
	Options
	hook       *Hook
	client     *http.Client
	owner      string
	ok, failed prometheus.Counter
	lost       map[string]prometheus.Counter

	// version is that of the document that was read or written last, and since is when this server first saw it.
	version int64
	since   time.Time
	// working: this server works for the webhook. What follows is its; zones is nil before, and after another server took the work over.
	working  bool
	progress progress
	// dirty: the progress is not written yet.
	dirty bool
	zones map[string]*known
	// bytes are those of the calls that wait.
	bytes   int
	failing bool
}

// documentOf names the document of a webhook.
func documentOf(h *Hook) string { return ":webhook:" + h.Name }

// progress is how far the webhook has been told; the text of its document.
type progress struct {
	Owner string `json:"owner,omitempty"`
	// Since: changes are told that were made later than this, in Unix milliseconds; 0 while the webhook does not want them.
	Since int64             `json:"since,omitempty"`
	Zones map[string]*marks `json:"zones"`
}

// marks are the marks of a zone, nil before the first look; Changed is the number of the last change that was told, 0 for none.
type marks struct {
	Soon    *mark `json:"soon,omitempty"`
	Turn    *mark `json:"turn,omitempty"`
	Changed int64 `json:"changed,omitempty"`
}

// known is what this server knows of a zone.
type known struct {
	marks *marks
	// at is when the zone was seen last, or the work taken over.
	at time.Time
	// settings are those with which the record of changes was read at the time read; nil if the zone was not seen then.
	settings *zone.Settings
	read     time.Time
	// look is when the places are looked at next. turn, soon and aside are what was so at the last look.
	look       time.Time
	turn, soon int64
	aside      int64
	calls      map[string]*calls
}

// runOnce takes the work over if it may, tells what is to be told, and writes the progress.
func (w *worker) runOnce(ctx context.Context) {
	if !w.working && !w.take(ctx) {
		return
	}
	now := w.Now()
	for settings, stats := range w.Watched() {
		k := w.know(settings.ZoneID)
		k.at = now
		w.lookAtChanges(ctx, settings.ZoneID, w.Zones.Settings(settings.ZoneID), k)
		w.lookAtPlaces(ctx, settings, &stats, k)
	}
	for _, id := range slices.Sorted(maps.Keys(w.zones)) {
		k := w.zones[id]
		if k.at.Before(now) {
			w.lookAfter(ctx, id, k)
		}
		for _, event := range Events {
			if c := k.calls[event]; c != nil && !w.call(ctx, k, id, event, c) {
				w.renew(ctx)
				return
			}
		}
	}
	w.renew(ctx)
}

// know returns what is known of a zone, from now on.
func (w *worker) know(id string) *known {
	k := w.zones[id]
	if k == nil {
		k = &known{marks: w.progress.Zones[id], at: w.Now(), calls: map[string]*calls{}}
		if k.marks == nil {
			k.marks = &marks{}
			w.progress.Zones[id] = k.marks
		}
		w.zones[id] = k
	}
	return k
}

// lookAfter is for a zone that is not seen: it is deleted, or cannot be read. Places are forgotten when none is set aside any more, and
// changes when the record has none.
func (w *worker) lookAfter(ctx context.Context, id string, k *known) {
	w.lookAtChanges(ctx, id, nil, k)
	if w.Now().Sub(k.at) <= zone.MaxKeepPlaceSeconds*time.Second {
		return
	}
	if k.marks.Soon, k.marks.Turn = nil, nil; k.marks.Changed == 0 && len(k.calls) == 0 {
		delete(w.zones, id)
		delete(w.progress.Zones, id)
		w.dirty = true
	}
}

// take takes the work over, if no other server is at it.
func (w *worker) take(ctx context.Context) bool {
	d, err := w.Store.Document(ctx, documentOf(w.hook))
	if err != nil {
		return false
	}
	is := progress{}
	if d.Version > 0 {
		if err := json.Unmarshal([]byte(d.Text), &is); err != nil {
			w.Logger.Error("the progress of a webhook is damaged: it begins anew", "webhook", w.hook.Name, "err", err)
			is = progress{}
		}
	}
	if w.zones != nil && (is.Owner == w.owner || d.Version == 0) { // a reply was lost, or the store lost what this server wrote
		w.version = d.Version
		w.working = w.save(ctx) == nil
		return w.working
	}
	if w.since.IsZero() || d.Version != w.version {
		w.version, w.since = d.Version, w.Now()
	}
	w.zones = nil
	if is.Owner != "" && !w.Alone && w.Now().Sub(w.since) < takeOver {
		return false
	}
	if is.Zones == nil {
		is.Zones = map[string]*marks{}
	}
	is.Owner = w.owner
	w.progress, w.zones, w.bytes = is, map[string]*known{}, 0
	for id := range is.Zones {
		w.forgetUnwanted(w.know(id).marks)
	}
	switch wants := w.hook.wants(ZoneChanged); {
	case !wants:
		w.progress.Since = 0
	case is.Since == 0: // what was before is not told
		w.progress.Since = w.Now().UnixMilli()
	}
	w.working = w.save(ctx) == nil
	return w.working
}

// forgetUnwanted forgets the marks of events that the webhook does not want: should it want them later, it is not told of what was before.
func (w *worker) forgetUnwanted(m *marks) {
	if !w.hook.wants(PlaceSoon) {
		m.Soon = nil
	}
	if !w.hook.wants(PlaceTurn) {
		m.Turn = nil
	}
	if !w.hook.wants(ZoneChanged) {
		m.Changed = 0
	}
}

// renew writes the progress if it has changed, or nothing was written for long. It reports whether this server may go on.
func (w *worker) renew(ctx context.Context) bool {
	if !w.working || !w.dirty && (w.Alone || w.Now().Sub(w.since) < renewEvery) {
		return w.working
	}
	err := w.save(ctx)
	if errors.Is(err, line.ErrDocumentChanged) {
		if w.working = w.take(ctx); !w.working {
			w.Logger.Warn("another server works for a webhook from now on", "webhook", w.hook.Name)
		}
		return w.working
	}
	return err == nil // while the store is away, nobody can take over
}

func (w *worker) save(ctx context.Context) error {
	text, err := json.Marshal(w.progress)
	if err == nil {
		err = w.Store.PutDocument(ctx, documentOf(w.hook), line.Document{Version: w.version + 1, Text: string(text)}, w.version)
	}
	if err == nil {
		w.version, w.since, w.dirty = w.version+1, w.Now(), false
	}
	return err
}
