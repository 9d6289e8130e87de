package writer

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/admissionlog"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

const (
	// mostQueued is how many events wait for the disk: 20 MB.
	mostQueued = 1 << 17
	// mostWritten is how many of them are written in one go.
	mostWritten = 1 << 14
	// fileBytes is from which size on a file is full.
	fileBytes = 16 << 20
	// missedBy is by how many milliseconds a visitor must be late to have missed its turn; window.GraceMillis, and as much for the way.
	missedBy = 2_000
	// headMinutes is of how many minutes the public state shows the last head.
	headMinutes = 3
	// closeWithin is for how long the end of the server waits for the disk.
	closeWithin = 2 * time.Second
)

// Options of a Log.
type Options struct {
	Dir     string
	Version string
	// Sign signs a head, as the pass's signer does: it returns a JWT of that type with the claims.
	Sign func(typ string, claims any) (string, error)
	// Store keeps the pseudonyms' keys, for as long as Keep. Files of the folder that are older than that are deleted.
	Store store.Historian
	Keep  time.Duration
	// Watched are the zones and what the store has counted, Refused how many requests of a zone were refused, by code.
	Watched func() iter.Seq2[zone.Settings, line.Stats]
	Refused func(zoneID string) map[string]int64
	// AS returns the number of the autonomous system of an address, such as AS64500; "" if it is not known.
	AS         func(netip.Addr) string
	Registerer prometheus.Registerer
	Logger     *slog.Logger
	Now        func() time.Time
}

// Log is the log of one server. A nil *Log writes nothing. It is safe for concurrent use.
type Log struct {
	Options
	run   string
	runs  background.Group
	heads atomic.Pointer[[]string]

	mu    sync.Mutex
	queue []entry
	lost  int64
	all   atomic.Int64 // how many were lost since the server was started

	// most and full are mostQueued and fileBytes but in tests.
	most int
	full int64

	// The fields below are the writing goroutine's.
	keys    pseudonyms
	seen    map[string]*seen
	create  func(name string) (file, error)
	out     file
	size    int64
	part    int
	day     int64
	state   admissionlog.Chain
	minute  int64 // of the latest head
	failing bool
}

// file is what is written to.
type file interface {
	Write(b []byte) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// entry is a line whose visitor and address have no pseudonyms yet.
type entry struct {
	admissionlog.Line
	id   line.ID
	from netip.Addr
}

// seen is what the log has said of a zone.
type seen struct {
	settings admissionlog.Settings
	totals   admissionlog.Totals
	refused  map[string]int64
}

// Open returns a log that does not write yet. It makes the folder.
func Open(o Options) (*Log, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("admissions log: %w", err)
	}
	host, _ := os.Hostname() // the rest of the name is enough
	safe := regexp.MustCompile(`[^a-z0-9-]+`).ReplaceAllString(strings.ToLower(host), "")
	l := &Log{
		Options: o, run: strings.TrimLeft(safe+"-"+uuid.NewString()[:8], "-"), seen: map[string]*seen{},
		most: mostQueued, full: fileBytes,
		create: func(name string) (file, error) {
			return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		},
	}
	l.keys = pseudonyms{store: o.Store, keep: o.Keep, now: o.Now, keys: map[zoneDay]*key{}}
	return l, l.meters()
}

// meters registers how much was lost.
func (l *Log) meters() error {
	if l.Registerer == nil {
		return nil
	}
	return l.Registerer.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "queue_admissions_log_lost_total",
		Help: "Lines that the log of admissions lacks, since its disk did not take them. 0 without a log.",
	}, func() float64 { return float64(l.all.Load()) }))
}

// Start writes until Stop.
func (l *Log) Start(ctx context.Context) {
	if l == nil {
		return
	}
	l.runs.Start(ctx, func(ctx context.Context) {
		background.Every(time.Second, l.RunOnce)(ctx)
		l.close(context.WithoutCancel(ctx))
	})
}

// Stop writes the rest and the last head. It gives up after two seconds: a disk may hang.
func (l *Log) Stop() {
	if l == nil {
		return
	}
	ended := make(chan struct{})
	go func() { l.runs.Stop(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(closeWithin):
		l.Logger.Error("the end of the log of admissions is not written: the disk does not answer", "folder", l.Dir)
	}
}

// Joined takes in what one who joined from an address was told.
func (l *Log) Joined(z *zones.Zone, from netip.Addr, a *line.Told) {
	if l == nil {
		return
	}
	e := l.entry(z, admissionlog.Joined, a.Place, a.State.NowMillis)
	again := a.Status == line.Admitted || a.Status == line.Waiting && max(e.Score, e.Arrived) <= a.State.EdgeMicros
	if again && !a.Early && !a.Remembered && e.Arrived < 1000*a.State.NowMillis {
		// Whoever joins again at an old place shows no token, which would say when the visitor was due.
		returned := e
		returned.Kind = admissionlog.Returned
		l.add(returned)
	}
	e.from = from
	switch {
	case a.Status == line.Admitted, a.Status == line.AdmittedBefore && !a.Early:
		l.admitted(e, a)
	case a.Status == line.Waiting && !a.Early && a.Place.ArrivedAtMicros >= 1000*a.State.NowMillis: // in this call
		l.add(e)
	}
}

// Polled takes in what one who polled for a place was told. Only of one who is admitted the address is needed.
func (l *Log) Polled(z *zones.Zone, shown line.Place, from netip.Addr, a *line.Told) {
	if l == nil || a.Early || a.Remembered {
		return
	}
	e := l.entry(z, admissionlog.Returned, a.Place, a.State.NowMillis)
	e.from, e.Due = from, shown.DueMillis
	missed := shown.DueMillis > 0 && shown.DueMillis < a.State.NowMillis-missedBy
	switch {
	case a.Status == line.Admitted, a.Status == line.AdmittedBefore:
		l.admitted(e, a)
	case a.Status == line.Waiting && missed && max(e.Score, e.Arrived) <= a.State.EdgeMicros:
		l.add(e)
	}
}

// Left takes in that a visitor gave a place up, or that an operator did so.
func (l *Log) Left(z *zones.Zone, p line.Place, operator bool) {
	if l == nil {
		return
	}
	e := l.entry(z, admissionlog.Left, p, l.Now().UnixMilli())
	if operator {
		e.Reason = admissionlog.ByOperator
	}
	l.add(e)
}

func (l *Log) entry(z *zones.Zone, kind string, p line.Place, at int64) entry {
	e := entry{id: p.ID, Line: admissionlog.Line{Kind: kind, Zone: z.ID(), At: at, Arrived: p.ArrivedAtMicros}}
	if score, ticket := z.Drew(p); score > 0 {
		e.Score, e.Ticket = score, hex.EncodeToString(ticket[:])
	}
	return e
}

func (l *Log) admitted(e entry, a *line.Told) {
	e.Kind, e.At, e.Number, e.Local = admissionlog.Admitted, a.AdmittedAtMillis, a.Number, a.Local
	if a.Status == line.AdmittedBefore {
		e.Kind = admissionlog.Repeated
	}
	if !a.Local {
		e.Data = fmt.Sprintf("%d.%d", a.State.Epoch, a.State.LostAtMillis)
	}
	l.add(e)
}

// add queues entries for the disk.
func (l *Log) add(all ...entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	room := min(len(all), l.most-len(l.queue))
	l.queue = append(l.queue, all[:room]...)
	l.lose(int64(len(all) - room))
}

// lose counts lines that the log will lack. It is called with the lock held.
func (l *Log) lose(n int64) {
	l.lost += n
	l.all.Add(n)
}

// Heads are the last head of each of the latest minutes that have one, the newest first.
func (l *Log) Heads() []string {
	if l == nil || l.heads.Load() == nil {
		return nil
	}
	return *l.heads.Load()
}

// RunOnce writes what has happened since the last time, as Start does once a second.
func (l *Log) RunOnce(ctx context.Context) { l.runOnce(ctx) }

// runOnce writes what has happened, and then the last lines.
func (l *Log) runOnce(ctx context.Context, last ...entry) {
	for settings, stats := range l.Watched() {
		l.look(&settings, &stats)
	}
	l.add(last...)
	err := l.write(ctx)
	l.keys.forget()
	if failed := err != nil; failed != l.failing {
		if l.failing = failed; failed {
			l.Logger.Error("the log of admissions is not written: what happens is kept in memory and tried again each second", "folder", l.Dir, "error", err)
		} else {
			l.Logger.Info("the log of admissions is written again", "folder", l.Dir, "lost", l.all.Load())
		}
	}
}

// look queues what has changed in a zone.
func (l *Log) look(settings *zone.Settings, stats *line.Stats) {
	s, t, id := settings.InForce(), stats.Totals, settings.ZoneID
	was, now := l.seen[id], &seen{
		settings: admissionlog.Settings{
			PerMinute: s.PerMinute, WindowSeconds: s.WindowSeconds, Burst: s.Burst, MaxInside: s.MaxInside, Mode: string(s.Mode),
		},
		totals: admissionlog.Totals{
			Joined: t.Joined, Admitted: t.Admitted, Left: t.Left, Swept: t.Swept, SetAside: t.SetAside, Returned: t.Returned,
			Waiting: stats.State.Waiting, Inside: stats.State.Inside,
		},
		refused: l.Refused(id),
	}
	first := was == nil
	if first {
		was = &seen{}
	}
	l.seen[id] = now
	of := func(kind string) entry {
		return entry{Line: admissionlog.Line{Kind: kind, At: stats.State.NowMillis, Zone: id}}
	}
	if now.settings != was.settings {
		e := of(admissionlog.InForce)
		e.Settings = &now.settings
		l.add(e)
	}
	for code, n := range now.refused {
		if e := of(admissionlog.Refused); n > was.refused[code] {
			e.Reason, e.Count = code, n-was.refused[code]
			l.add(e)
		}
	}
	if first || now.totals != was.totals {
		e := of(admissionlog.Counted)
		e.Data, e.Totals = fmt.Sprintf("%d.%d", stats.State.Epoch, stats.State.LostAtMillis), &now.totals
		l.add(e)
	}
}

// write writes what is queued, with heads. What cannot be written stays queued.
func (l *Log) write(ctx context.Context) error {
	for {
		l.mu.Lock()
		all, lost := slices.Clone(l.queue[:min(len(l.queue), mostWritten)]), l.lost
		l.mu.Unlock()
		if len(all) == 0 && lost == 0 {
			return nil
		}
		if err := l.keys.give(ctx, all, l.AS); err != nil {
			return err
		}
		if err := l.append(all, lost); err != nil {
			return err
		}
		l.mu.Lock()
		if l.queue = l.queue[len(all):]; len(l.queue) == 0 {
			l.queue = nil // the memory is free
		}
		l.lost -= lost
		l.mu.Unlock()
	}
}

// append writes lines with their head in one go, compressed by themselves: all of them, or none.
func (l *Log) append(all []entry, lost int64) error {
	now := l.Now()
	if l.out != nil && (l.size >= l.full || l.day != now.Unix()/86_400) {
		_ = l.out.Close() // it was synced
		l.out = nil
	}
	if l.out == nil {
		if err := l.begin(now); err != nil {
			return err
		}
	}
	b := newBatch(l.state)
	if l.size == 0 {
		first := admissionlog.Line{Kind: admissionlog.Begin, At: now.UnixMilli(), Run: l.run, Part: l.part, Version: l.Version}
		if l.part > 1 {
			first.Prev = l.state.String()
		}
		b.add(&first)
	}
	if lost > 0 {
		b.add(&admissionlog.Line{Kind: admissionlog.Gap, At: now.UnixMilli(), Count: lost})
	}
	for i := range all {
		b.add(&all[i].Line)
	}
	jws, err := l.Sign(admissionlog.HeadType, admissionlog.HeadClaims{Run: l.run, At: now.UnixMilli(), Hash: b.state.String()})
	if err != nil {
		return err
	}
	b.add(&admissionlog.Line{Kind: admissionlog.Head, At: now.UnixMilli(), JWS: jws})
	if err := errors.Join(b.err, b.zip.Close()); err != nil {
		return err
	}
	if err := l.put(b.packed.Bytes()); err != nil {
		return err
	}
	l.state, l.size = b.state, l.size+int64(b.packed.Len())
	l.show(now, jws)
	return nil
}

// put writes the text and sees that the disk has it, or takes all of it back.
func (l *Log) put(text []byte) error {
	_, err := l.out.Write(text)
	if err == nil {
		err = l.out.Sync()
	}
	if err != nil && l.out.Truncate(l.size) != nil {
		_ = l.out.Close() // what is in it after the last head stays there
		l.out = nil
	}
	return err
}

// begin makes the next file, and deletes those that are too old.
func (l *Log) begin(now time.Time) error {
	out, err := l.create(filepath.Join(l.Dir, fmt.Sprintf("admissions-%s-%04d.jsonl.gz", l.run, l.part+1)))
	if err != nil {
		return err
	}
	l.part++
	l.out, l.size, l.day = out, 0, now.Unix()/86_400
	all, _ := filepath.Glob(filepath.Join(l.Dir, "admissions-*.jsonl.gz"))
	for _, one := range all {
		if about, err := os.Stat(one); err == nil && now.Sub(about.ModTime()) > l.Keep {
			_ = os.Remove(one) // else the next time
		}
	}
	return nil
}

// show shows a head in the public state, in the place of an earlier one of the same minute.
func (l *Log) show(now time.Time, jws string) {
	before, minute := l.Heads(), now.Unix()/60
	if len(before) > 0 && l.minute == minute {
		before = before[1:]
	}
	shown := append([]string{jws}, before[:min(len(before), headMinutes-1)]...)
	l.minute = minute
	l.heads.Store(&shown)
}

// close writes what is left and the last line.
func (l *Log) close(ctx context.Context) {
	l.runOnce(ctx, entry{Line: admissionlog.Line{Kind: admissionlog.End, At: l.Now().UnixMilli()}})
	if l.out != nil {
		_ = l.out.Close() // it was synced
	}
}

// batch are lines that are written together.
type batch struct {
	packed *bytes.Buffer
	zip    *gzip.Writer
	state  admissionlog.Chain
	err    error
}

func newBatch(after admissionlog.Chain) *batch {
	packed := new(bytes.Buffer)
	return &batch{packed: packed, zip: gzip.NewWriter(packed), state: after}
}

func (b *batch) add(one *admissionlog.Line) {
	text, err := json.Marshal(one)
	if err == nil {
		b.state = b.state.Next(text)
		_, err = b.zip.Write(append(text, '\n'))
	}
	b.err = errors.Join(b.err, err)
}
