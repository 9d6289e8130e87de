package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// eventTimeout is how long a browser may take to read one event. It takes
	// the place of the listener's limit for a whole answer.
	eventTimeout = 10 * time.Second
	// retryMillis is when a browser comes back after a stream has ended.
	retryMillis = 1000
	// recentChanges are as many as a stream looks at to tell that there is one.
	recentChanges = 1
)

// frame is one zone at one second: an event of its stream.
type frame struct {
	// At is the second, Unix milliseconds; 0 before the first sample.
	At int64 `json:"at"`
	// Stamp is another when the zone's settings are.
	Stamp string             `json:"stamp"`
	State state              `json:"state"`
	Texts map[string]string  `json:"texts"`
	Shown map[string]float64 `json:"meters"`
	Point []*float64         `json:"point"`
}

// roll is all zones at one second: an event of the first page's stream.
type roll struct {
	At int64 `json:"at"`
	// Stamp is another when there are other zones.
	Stamp string            `json:"stamp"`
	Texts map[string]string `json:"texts"`
	Zones []rollZone        `json:"zones"`
}

// rollZone is a zone's row.
type rollZone struct {
	ID    string             `json:"id"`
	State state              `json:"state"`
	Texts map[string]string  `json:"texts"`
	Shown map[string]float64 `json:"meters"`
}

// frames encodes events, each once a second however many streams there are.
type frames struct {
	zones Zones
	watch Watch

	mu   sync.Mutex
	tick int64
	// made are the events of this tick, by zone; that of all zones is at "".
	made map[string][]byte
}

func newFrames(z Zones, w Watch) *frames {
	return &frames{zones: z, watch: w, made: map[string][]byte{}}
}

// of returns the event of a zone, or of all zones for "", in the round of that
// number. It is not to be written to. line.ErrZoneUnknown: there is no such
// zone.
func (f *frames) of(ctx context.Context, tick int64, zoneID string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if tick > f.tick {
		f.tick = tick
		clear(f.made)
	}
	if event, ok := f.made[zoneID]; ok {
		return event, nil
	}
	var content any
	if zoneID == "" {
		list, err := f.zones.List(ctx)
		if err != nil {
			return nil, err
		}
		content = f.roll(list)
	} else {
		s, err := f.zones.Get(ctx, zoneID)
		if err != nil {
			return nil, err
		}
		content = f.zone(s)
	}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("console: encode event: %w", err)
	}
	event := fmt.Appendf(nil, "id: %d\nevent: figures\ndata: %s\n\n", tick, text)
	f.made[zoneID] = event
	return event, nil
}

func (f *frames) zone(s zone.Settings) frame {
	now, seen := f.watch.Latest(s.ZoneID)
	return frame{
		At: now.At, Stamp: stampOf(s), State: stateOf(s, now, seen),
		Texts: texts(s, now, seen), Shown: meters(s, now, seen), Point: point(now),
	}
}

func (f *frames) roll(list []zone.Settings) roll {
	r := roll{Zones: make([]rollZone, 0, len(list))}
	var waiting, admitted, silent int64
	names := fnv.New64a()
	for _, s := range list {
		now, seen := f.watch.Latest(s.ZoneID)
		t := texts(s, now, seen)
		row := rollZone{ID: s.ZoneID, State: stateOf(s, now, seen), Shown: meters(s, now, seen), Texts: map[string]string{}}
		for _, key := range rollKeys {
			row.Texts[key] = t[key]
		}
		r.Zones = append(r.Zones, row)
		r.At = max(r.At, now.At)
		waiting += now.Waiting
		admitted += now.InMinute
		if seen && !now.Known() {
			silent++
		}
		_, _ = names.Write(append([]byte(s.ZoneID), '/')) // a hash never fails
	}
	r.Stamp = strconv.FormatUint(names.Sum64(), 36)
	r.Texts = map[string]string{
		"zones": count(int64(len(list))), "all.waiting": count(waiting), "all.admitted": count(admitted),
		"all.store": "answers", "all.store.note": "for all zones",
	}
	if silent > 0 {
		r.Texts["all.store"] = "away"
		r.Texts["all.store.note"] = fmt.Sprintf("for %d of %d zones", silent, len(list))
	}
	return r
}

// rollKeys are the figures of a row.
var rollKeys = []string{"waiting", "minute", "limit", "estimate", "p50", "joins", "polls", "store"}

// stampOf names the settings: another when one of them is.
func stampOf(s zone.Settings) string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%+v", s) // a hash never fails
	return strconv.FormatUint(h.Sum64(), 36)
}

// zonesEvents is GET /console/events.
func (c *Console) zonesEvents(w http.ResponseWriter, r *http.Request, s session) error {
	return c.stream(w, r, s, "")
}

// zoneEvents is GET /console/zones/{zoneId}/events.
func (c *Console) zoneEvents(w http.ResponseWriter, r *http.Request, s session) error {
	zoneID := r.PathValue("zoneId")
	if _, err := c.zones.Get(r.Context(), zoneID); err != nil {
		return err
	}
	return c.stream(w, r, s, zoneID)
}

// stream sends an event a second until the browser leaves, the watch is stopped
// as the server drains, the session ends or the zone is deleted. The last two are
// said, so that the page can tell the operator what happened.
func (c *Console) stream(w http.ResponseWriter, r *http.Request, s session, zoneID string) error {
	select {
	case c.streams <- struct{}{}:
		defer func() { <-c.streams }()
	default:
		return errTooMany
	}
	ctx, cancel := context.WithDeadline(r.Context(), s.expires)
	defer cancel()

	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no") // or a proxy collects what should be seen now
	out := http.NewResponseController(w)
	send := func(event []byte) bool {
		if err := out.SetWriteDeadline(time.Now().Add(eventTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return false
		}
		if _, err := w.Write(event); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	var tick int64
	if !send(fmt.Appendf(nil, "retry: %d\n\n", retryMillis)) {
		return nil
	}
	for {
		event, err := c.frames.of(ctx, tick, zoneID)
		switch {
		case errors.Is(err, line.ErrZoneUnknown), errors.Is(err, line.ErrZoneDeleted):
			send([]byte("event: gone\ndata: {}\n\n"))
			return nil
		case err != nil:
			// The store's failure: the page says how old its figures are.
			event = []byte(": no figures\n\n")
		case !c.gate.alive(s):
			send([]byte("event: logout\ndata: {}\n\n"))
			return nil
		}
		if !send(event) {
			return nil
		}
		if tick, err = c.watch.Wait(ctx, tick); err != nil {
			if !c.gate.alive(s) {
				send([]byte("event: logout\ndata: {}\n\n"))
			}
			return nil
		}
	}
}

// errTooMany: more consoles are open than there may be.
var errTooMany = errors.New("console: too many streams")

// history is GET /console/zones/{zoneId}/history: the last hour, by column,
// since ?after (Unix seconds) if it is given.
func (c *Console) history(w http.ResponseWriter, r *http.Request, _ session) error {
	zoneID := r.PathValue("zoneId")
	if _, err := c.zones.Get(r.Context(), zoneID); err != nil {
		return err
	}
	after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64) // 0: all
	text, err := json.Marshal(chartOf(c.watch.History(zoneID), after))
	if err != nil {
		return fmt.Errorf("console: encode history: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
	return nil
}

// chart is what the charts draw: Columns[i] is Names[i] over time.
type chart struct {
	Names   []string     `json:"names"`
	Columns [][]*float64 `json:"columns"`
}

func chartOf(samples []watch.Sample, after int64) chart {
	ch := chart{Names: columns, Columns: make([][]*float64, len(columns))}
	for i := range ch.Columns {
		ch.Columns[i] = make([]*float64, 0, len(samples))
	}
	for _, s := range samples {
		if s.At <= after*1000 {
			continue
		}
		for i, v := range point(s) {
			ch.Columns[i] = append(ch.Columns[i], v)
		}
	}
	return ch
}
