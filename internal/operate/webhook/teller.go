package webhook

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	tick = time.Second
	// renewEvery is how often the server that works for a webhook writes its progress at least; a call may delay it by callTimeout.
	renewEvery = 10 * time.Second
	// takeOver is for how long nothing is written before another server takes over.
	takeOver = 30 * time.Second
	// firstPause is that before a call is made again, which then doubles up to maxPause. giveUpAfter counts from the first call.
	firstPause, maxPause, giveUpAfter = time.Second, 5 * time.Minute, time.Hour
	// maxPending is how many bytes of calls wait in memory for each webhook.
	maxPending = 16 << 20
	// lookEvery is how often the places of a zone are looked at, at most; where that takes long, it takes a lookShare-th of the time.
	lookEvery, lookShare = 5 * time.Second, 30
	// changesEvery is how often a zone's record is read if its settings are the same: they may have been changed and changed back.
	changesEvery = 5 * time.Minute
)

// Options of a Teller.
type Options struct {
	Hooks []Hook
	// Watched are the zones, as they were seen last.
	Watched func() iter.Seq2[zone.Settings, line.Stats]
	Store   store.Teller
	// Changes returns the record of a zone's changes, as store.Editor does.
	Changes func(ctx context.Context, zoneID string) ([]zone.Change, error)
	// Alone: no other server uses the store.
	Alone bool
	// Roots are the authorities that are trusted; nil for the system's.
	Roots      *x509.CertPool
	Now        func() time.Time
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// Teller makes the calls of all webhooks, each in a goroutine of its own.
type Teller struct {
	workers []*worker
	group   background.Group
}

// New returns the Teller of the webhooks. A nil Teller does nothing.
func New(o Options) *Teller {
	if len(o.Hooks) == 0 {
		return nil
	}
	calls := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "queue_webhook_calls_total", Help: "Calls of webhooks, by whether the receiver took them.",
	}, []string{"webhook", "outcome"})
	lost := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "queue_webhook_lost_total", Help: "Places and changes that were not told, since the receiver took no call for an hour.",
	}, []string{"webhook", "event"})
	o.Registerer.MustRegister(calls, lost)
	t := &Teller{}
	for i := range o.Hooks {
		h := &o.Hooks[i]
		w := &worker{
			Options: o, hook: h, client: newClient(h, o.Roots), owner: uuid.NewString(),
			ok: calls.WithLabelValues(h.Name, "ok"), failed: calls.WithLabelValues(h.Name, "failed"), lost: map[string]prometheus.Counter{},
		}
		for _, name := range Events {
			w.lost[name] = lost.WithLabelValues(h.Name, name)
		}
		t.workers = append(t.workers, w)
	}
	return t
}

// Start begins to tell, until Stop.
func (t *Teller) Start(ctx context.Context) {
	if t == nil {
		return
	}
	runs := make([]func(context.Context), len(t.workers))
	for i, w := range t.workers {
		runs[i] = background.Every(tick, w.runOnce)
	}
	t.group.Start(ctx, runs...)
}

// Stop ends all calls, and leaves the work to other servers.
func (t *Teller) Stop(ctx context.Context) {
	if t == nil {
		return
	}
	t.group.Stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewEvery/5)
	defer cancel()
	for _, w := range t.workers {
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
	// working: this server works for the webhook. progress, known and pending are its.
	working  bool
	progress progress
	dirty    bool
	known    map[string]*known
	pending  map[key]*pending
	bytes    int
	failing  bool
}

// progress is how far the webhook has been told; the text of its document.
type progress struct {
	Owner string             `json:"owner,omitempty"`
	Zones map[string]*marked `json:"zones"`
}

// marked are the marks of a zone; nil before the first look.
type marked struct {
	Soon    *mark    `json:"soon,omitempty"`
	Turn    *mark    `json:"turn,omitempty"`
	Changed *changed `json:"changed,omitempty"`
}

// mark: places that stand at Upto or before are told if they were set aside before Millis.
type mark struct {
	Upto   int64 `json:"upto"`
	Millis int64 `json:"millis"`
}

// changed: the changes until Millis are told, and Count of those at Millis.
type changed struct {
	Millis int64 `json:"millis"`
	Count  int   `json:"count"`
}

// known is what this server has seen of a zone since it began to work.
type known struct {
	settings zone.Settings
	gone     bool
	changes  time.Time // when the record was last read
	look     time.Time // when the places are looked at next
}

type key struct{ zoneID, event string }

// pending are calls that wait, in order. When the last is done, done moves the mark.
type pending struct {
	calls       []call
	done        func()
	first, next time.Time
	pause       time.Duration
}

type call struct {
	id   string
	body []byte
	of   int // places or changes
}

// runOnce takes the work over if it may, does what is due, and writes the progress.
func (w *worker) runOnce(ctx context.Context) {
	if !w.working && !w.take(ctx) {
		return
	}
	for settings, stats := range w.Watched() {
		w.look(ctx, settings, stats)
	}
	for id, k := range w.known {
		if k.gone {
			w.lookAtChanges(ctx, id, k) // the last look found no zone of that name
			delete(w.known, id)
		}
		k.gone = true
	}
	for at, p := range w.pending {
		if !w.renew(ctx) {
			return
		}
		w.call(ctx, at, p)
	}
	w.renew(ctx)
}

// take takes the work over, if no other server is at it.
func (w *worker) take(ctx context.Context) bool {
	d, err := w.Store.Progress(ctx, w.hook.Name)
	if err != nil {
		return false
	}
	if w.since.IsZero() || d.Version != w.version {
		w.version, w.since = d.Version, w.Now()
	}
	is := progress{Zones: map[string]*marked{}}
	if d.Version > 0 {
		if err := json.Unmarshal([]byte(d.Text), &is); err != nil {
			w.Logger.Error("the progress of a webhook is damaged: it begins anew", "webhook", w.hook.Name, "err", err)
			is = progress{Zones: map[string]*marked{}}
		}
	}
	if is.Owner != "" && !w.Alone && w.Now().Sub(w.since) < takeOver {
		return false
	}
	is.Owner = w.owner
	w.progress, w.known, w.pending, w.bytes = is, map[string]*known{}, map[key]*pending{}, 0
	for id := range is.Zones {
		w.known[id] = &known{}
	}
	w.working = w.save(ctx) == nil
	return w.working
}

// renew writes the progress if it has changed, or nothing was written for long. It reports whether this server still works.
func (w *worker) renew(ctx context.Context) bool {
	if w.dirty || !w.Alone && w.Now().Sub(w.since) >= renewEvery {
		switch err := w.save(ctx); {
		case errors.Is(err, store.ErrDocumentChanged):
			w.Logger.Warn("another server works for a webhook from now on", "webhook", w.hook.Name)
			w.working, w.since = false, time.Time{}
		case err != nil:
			return false // the store is away, and nobody can take over
		}
	}
	return w.working
}

func (w *worker) save(ctx context.Context) error {
	text, err := json.Marshal(w.progress)
	if err == nil {
		err = w.Store.PutProgress(ctx, w.hook.Name, store.Document{Version: w.version + 1, Text: string(text)}, w.version)
	}
	if err == nil {
		w.version, w.since, w.dirty = w.version+1, w.Now(), false
	}
	return err
}

// add has calls made, and then the mark moved.
func (w *worker) add(at key, calls []call, done func()) {
	for i := range calls {
		w.bytes += len(calls[i].body)
	}
	w.pending[at] = &pending{calls: calls, done: done, pause: firstPause}
}

// call makes calls that are due.
func (w *worker) call(ctx context.Context, at key, p *pending) {
	for len(p.calls) > 0 && !w.Now().Before(p.next) {
		c := &p.calls[0]
		if p.first.IsZero() {
			p.first = w.Now()
		}
		err := w.hook.send(ctx, w.client, c.id, w.Now(), c.body)
		if ctx.Err() != nil {
			return
		}
		w.tellFailing(err)
		if err != nil {
			w.failed.Inc()
			if p.next, p.pause = w.Now().Add(p.pause), min(2*p.pause, maxPause); w.Now().Sub(p.first) < giveUpAfter {
				return
			}
			w.lost[at.event].Add(float64(c.of))
			w.Logger.Error("a webhook is not told: the receiver took no call for an hour",
				"webhook", w.hook.Name, "zone", at.zoneID, "event", at.event, "lost", c.of, "err", err)
		} else {
			w.ok.Inc()
		}
		w.bytes -= len(c.body)
		p.calls, p.first, p.next, p.pause = p.calls[1:], time.Time{}, time.Time{}, firstPause
		if len(p.calls) > 0 && !w.renew(ctx) {
			return
		}
	}
	if len(p.calls) == 0 {
		p.done()
		delete(w.pending, at)
		w.dirty = true
	}
}

// tellFailing logs that calls begin to fail, and that they no longer do.
func (w *worker) tellFailing(err error) {
	if failing := err != nil; failing != w.failing {
		if w.failing = failing; failing {
			w.Logger.Warn("a webhook's receiver takes no calls: each is made again for an hour", "webhook", w.hook.Name, "err", err)
		} else {
			w.Logger.Info("a webhook's receiver takes calls again", "webhook", w.hook.Name)
		}
	}
}
