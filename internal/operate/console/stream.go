package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/serve"
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
	// Clock is that of the zone's store when this was made, Unix milliseconds.
	Clock int64 `json:"clock"`
	// Stamp is another when the settings are.
	Stamp string             `json:"stamp"`
	State state              `json:"state"`
	Texts map[string]string  `json:"texts"`
	Shown map[string]float64 `json:"meters"`
	// Point is the newest of the charts; the page ignores one that it has.
	Point []*float64 `json:"point"`
}

// roll is all zones, or all policies, at one second: an event of their stream.
type roll struct {
	// Stamp is another when there are other rows.
	Stamp string            `json:"stamp"`
	Texts map[string]string `json:"texts"`
	Rows  []row             `json:"rows"`
}

// row is a zone's or a policy's.
type row struct {
	ID string `json:"id"`
	// Allows is what a policy allows, Away what it does while the store is away.
	Allows string             `json:"-"`
	Away   string             `json:"-"`
	State  state              `json:"state"`
	Texts  map[string]string  `json:"texts"`
	Shown  map[string]float64 `json:"meters"`
}

// content is what an event tells.
type content func(ctx context.Context) (any, error)

// event encodes what from tells as an event.
func (from content) event(ctx context.Context, tick int64) ([]byte, error) {
	told, err := from(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(told)
	if err != nil {
		return nil, fmt.Errorf("console: encode event: %w", err)
	}
	return fmt.Appendf(nil, "id: %d\nevent: figures\ndata: %s\n\n", tick, text), nil
}

// zoneFrame is the event of one zone.
func (c *Console) zoneFrame(s zone.Settings) frame {
	now, seen := c.Watch.Latest(s.ZoneID)
	t := texts(s, now, seen)
	if sessions, idle := c.Zones.Idle(s.ZoneID); sessions > 0 {
		t["inside.note"] += fmt.Sprintf("; of %s seen here, %s asked for nothing for 3 min", count(sessions), count(idle))
	}
	return frame{
		At: now.At, Clock: c.clock(s.ZoneID).UnixMilli(), Stamp: stampOf(s), State: stateOf(s, now, seen),
		Texts: t, Shown: meters(s, now, seen), Point: point(now),
	}
}

// zonesRoll is the event of all zones.
func (c *Console) zonesRoll(ctx context.Context) (roll, error) {
	list, err := c.Zones.List(ctx)
	if err != nil {
		return roll{}, err
	}
	list = slices.DeleteFunc(list, func(z zone.Settings) bool { return !people.Of(ctx).Sees(z.ZoneID) })
	r := roll{Rows: make([]row, 0, len(list))}
	var waiting, admitted, known, silent int64
	var ids []string
	for _, s := range list {
		now, seen := c.Watch.Latest(s.ZoneID)
		t := texts(s, now, seen)
		one := row{ID: s.ZoneID, State: stateOf(s, now, seen), Shown: meters(s, now, seen), Texts: map[string]string{}}
		for _, key := range rollKeys {
			one.Texts[key] = t[key]
		}
		r.Rows = append(r.Rows, one)
		waiting += now.Waiting
		admitted += now.InMinute
		switch {
		case seen && now.Known():
			known++
		case seen:
			silent++
		}
		ids = append(ids, s.ZoneID)
	}
	r.Stamp = stampOf(ids)
	r.Texts = map[string]string{
		"zones": count(int64(len(list))), "all.waiting": count(waiting), "all.admitted": count(admitted),
		"all.store": "answers", "all.store.note": "for all zones",
	}
	if known == 0 && len(list) > 0 { // a sum of nothing is no figure
		r.Texts["all.waiting"], r.Texts["all.admitted"] = unknown, unknown
		r.Texts["all.store"], r.Texts["all.store.note"] = "not known yet", ""
	}
	if silent > 0 {
		r.Texts["all.store"] = "away"
		r.Texts["all.store.note"] = fmt.Sprintf("for %d of %d zones", silent, len(list))
	}
	return r, nil
}

// zoneEvents is GET /console/zones/{zoneId}/events.
func (c *Console) zoneEvents(w http.ResponseWriter, r *http.Request, s session, current zone.Settings) error {
	return c.stream(w, r, s, func(ctx context.Context) (any, error) {
		now, err := c.Zones.Get(ctx, current.ZoneID)
		return c.zoneFrame(now), err
	})
}

// rollKeys are the figures of a row.
var rollKeys = []string{"waiting", "minute", "limit", "estimate", "p50", "joins", "polls", "store"}

// stampOf names the settings: another when one of them is.
func stampOf(s any) string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%+v", s) // a hash never fails
	return strconv.FormatUint(h.Sum64(), 36)
}

// zonesEvents is GET /console/events.
func (c *Console) zonesEvents(w http.ResponseWriter, r *http.Request, s session) error {
	return c.stream(w, r, s, func(ctx context.Context) (any, error) { return c.zonesRoll(ctx) })
}

// stream sends an event a second until the browser leaves, the watch is stopped
// as the server drains, the session ends or what is shown is deleted. The last two are
// said, so that the page can tell the operator what happened.
func (c *Console) stream(w http.ResponseWriter, r *http.Request, s session, from content) error {
	select {
	case c.streams <- struct{}{}:
		defer func() { <-c.streams }()
	default:
		return errTooMany
	}
	// The session ends on the console's clock, which is not the one of contexts.
	ctx, cancel := context.WithTimeout(r.Context(), s.Expires.Sub(c.Now()))
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
		event, err := from.event(ctx, tick)
		switch {
		case errors.Is(err, line.ErrZoneUnknown), errors.Is(err, line.ErrZoneDeleted), errors.Is(err, errNothing):
			send([]byte("event: gone\ndata: {}\n\n"))
			return nil
		case err != nil:
			// The store's failure: the page says how old its figures are.
			event = []byte(": no figures\n\n")
		case !c.alive(s):
			send([]byte("event: logout\ndata: {}\n\n"))
			return nil
		}
		if !send(event) {
			return nil
		}
		if tick, err = c.Watch.Wait(ctx, tick); err != nil {
			if !c.alive(s) {
				send([]byte("event: logout\ndata: {}\n\n"))
			}
			return nil
		}
	}
}

// chart is what the charts draw: the columns by their names, and the points.
type chart struct {
	Names  []string     `json:"names"`
	Points [][]*float64 `json:"points"`
}

// history is GET /console/zones/{zoneId}/history: the points of the last hour,
// since ?after (Unix seconds) if it is given.
func (c *Console) history(w http.ResponseWriter, r *http.Request, _ session, current zone.Settings) error {
	after, err := strconv.ParseInt(cmp.Or(r.URL.Query().Get("after"), "0"), 10, 64)
	if err != nil {
		return &serve.FieldError{Field: "after", Reason: "must be a second, in Unix time"}
	}
	ch := chart{Names: columns, Points: [][]*float64{}} // an empty list, not null
	for _, s := range c.Watch.History(current.ZoneID) {
		if p := point(s); *p[0] > float64(after) {
			ch.Points = append(ch.Points, p)
		}
	}
	text, err := json.Marshal(ch)
	if err != nil {
		return fmt.Errorf("console: encode: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
	return nil
}
