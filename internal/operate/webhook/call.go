package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"time"
)

const (
	// firstPause is that before a call is made again, which then doubles up to maxPause. giveUpAfter counts from the first time that the
	// first call of those of a look was made.
	firstPause, maxPause, giveUpAfter = time.Second, 5 * time.Minute, time.Hour
	// maxPending is how many bytes of calls wait in memory for each webhook, and up to a look's more.
	maxPending = 16 << 20
)

// message is the body of a call.
type message struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      any    `json:"data"`
}

// calls are those of a zone and an event that wait, in order. They began to be made at first, and the next is made at next.
type calls struct {
	list        []call
	first, next time.Time
	pause       time.Duration
}

// call is one call. Its id is the same for the same data of the same time.
type call struct {
	event string
	id    string
	body  []byte
	of    int    // places or changes
	done  func() // moves the mark
}

func newCall(hook, event string, atMillis int64, data any, of int, done func()) call {
	body, err := json.Marshal(message{event, time.UnixMilli(atMillis).UTC().Format(time.RFC3339Nano), data})
	if err != nil {
		panic(err) // texts and numbers
	}
	sum := sha256.Sum256(append([]byte(hook+" "), body...))
	return call{event, "msg_" + base32.StdEncoding.EncodeToString(sum[:15]), body, of, done}
}

// add has a call made behind those of the zone and the event that wait.
func (w *worker) add(k *known, c call) {
	if k.calls[c.event] == nil {
		k.calls[c.event] = &calls{pause: firstPause}
	}
	k.calls[c.event].list = append(k.calls[c.event].list, c)
	w.bytes += len(c.body)
}

// call makes those of the calls that are due. It reports whether others may be made: not after one has failed, which may have taken
// callTimeout.
func (w *worker) call(ctx context.Context, k *known, zoneID, event string, p *calls) bool {
	for len(p.list) > 0 {
		now, c := w.Now(), p.list[0]
		if now.Before(p.next) {
			return true
		}
		if !w.renew(ctx) {
			return false
		}
		if p.first.IsZero() {
			p.first = now
		}
		err := w.hook.send(ctx, w.client, c.id, now, c.body)
		if ctx.Err() != nil {
			return false
		}
		w.logFailing(err)
		if err == nil {
			w.ok.Inc()
			p.next, p.pause = time.Time{}, firstPause
		} else {
			w.failed.Inc()
			p.next, p.pause = w.Now().Add(p.pause), min(2*p.pause, maxPause)
			if w.Now().Sub(p.first) < giveUpAfter {
				return false
			}
			w.lost[event].Add(float64(c.of))
			w.Logger.Error("a webhook is not told: the receiver took no call for an hour",
				"webhook", w.hook.Name, "zone", zoneID, "event", event, "lost", c.of, "err", err)
		}
		c.done()
		w.dirty = true
		w.bytes -= len(c.body)
		if p.list = p.list[1:]; len(p.list) == 0 {
			delete(k.calls, event)
		}
		if err != nil {
			return false
		}
	}
	return true
}

// logFailing logs that calls begin to fail, and that they no longer do.
func (w *worker) logFailing(err error) {
	if failing := err != nil; failing != w.failing {
		if w.failing = failing; failing {
			w.Logger.Warn("a webhook's receiver takes no calls: each is made again for an hour", "webhook", w.hook.Name, "err", err)
		} else {
			w.Logger.Info("a webhook's receiver takes calls again", "webhook", w.hook.Name)
		}
	}
}
