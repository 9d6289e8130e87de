package fault

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// saleName is that of the event.
const saleName = "noon"

// opening is a zone with a draw: a crowd gathers for so long, and is let in at a time.
type opening struct {
	*experiment
	zoneID string
	// gathers, settles and opens are on this process's clock, which the store's is ahead of.
	gathers, settles, opens time.Time
	ahead                   time.Duration
}

// announced is how long before people gather the event is listed: servers tell each other
// within a second.
const announced = 3 * time.Second

// startOpening lists the event in the zone of an experiment, for a crowd that gathers for so long, and
// returns when every server knows of the draw.
func startOpening(t *testing.T, s *experiment, e *engine, gather time.Duration) *opening {
	t.Helper()
	o := &opening{experiment: s, zoneID: s.zones[0].ZoneID}
	seconds, rest, _ := strings.Cut(e.do(t, "TIME"), "\n")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	micros, err2 := strconv.ParseInt(rest, 10, 64)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	o.ahead = time.Until(time.UnixMicro(unix*1_000_000 + micros))
	o.gathers = time.Now().Add(announced).Truncate(time.Millisecond)
	o.settles = o.gathers.Add(gather)
	o.opens = o.settles.Add(event.MinDrawClosesSeconds * time.Second)
	list, err := json.Marshal(map[string][]event.Event{"events": {{
		Name: saleName, Order: event.OrderDraw, DrawClosesSeconds: event.MinDrawClosesSeconds,
		PreQueueAt: o.inStore(o.gathers).Format(time.RFC3339Nano), OpensAt: o.inStore(o.opens).Format(time.RFC3339Nano),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	s.servers[0].operate(t, http.MethodPatch, o.zoneID, string(list), http.StatusOK)
	for i := range s.servers {
		await(t, settleTimeout, "a server knows the commitment", func() bool {
			d, status := o.draw(t, i)
			return status == http.StatusOK && d.Commitment != ""
		})
	}
	return o
}

// inStore is a time on the store's clock, to the millisecond.
func (o *opening) inStore(at time.Time) time.Time { return at.Add(o.ahead).Truncate(time.Millisecond) }

// gather has so many come while people gather, but for its first and last tenth.
func (o *opening) gather(t *testing.T, n int) {
	t.Helper()
	length := o.settles.Sub(o.gathers)
	o.crowd.arriveFrom(t.Context(), o.zoneID, n, time.Until(o.gathers)+length/10, length*8/10)
}

// publicDraw is what anybody reads of a draw.
type publicDraw struct {
	Commitment string `json:"commitment"`
	Seed       string `json:"seed"`
	FromMicros int64  `json:"fromMicros"`
	UptoMicros int64  `json:"uptoMicros"`
	GathersAt  int64  `json:"gathersAt"`
	SettlesAt  int64  `json:"settlesAt"`
	Tickets    int    `json:"tickets"`
	Parts      int    `json:"parts"`
}

// read reads what is public of the draw, and returns the status.
func (o *opening) read(t *testing.T, server int, path string, into any) int {
	t.Helper()
	url := o.servers[server].public + "/traffic/zones/" + o.zoneID + "/events/" + saleName + "/draw" + path
	status, body, err := o.servers[server].get(t.Context(), url)
	if err == nil && status == http.StatusOK {
		err = json.Unmarshal([]byte(body), into)
	}
	if err != nil {
		t.Logf("%s: %d %s %v", url, status, body, err)
	}
	return status
}

func (o *opening) draw(t *testing.T, server int) (d publicDraw, status int) {
	t.Helper()
	status = o.read(t, server, "", &d)
	return d, status
}

// prove reads the list from a server, checks it as anybody can, and gives each visitor its number.
// It returns how many were drawn.
func (o *opening) prove(t *testing.T, server int) int {
	t.Helper()
	var d publicDraw
	await(t, settleTimeout, "the seed and the list are published", func() bool {
		d, _ = o.draw(t, server)
		return d.Seed != "" && d.Parts > 0
	})
	seed, err := hex.DecodeString(d.Seed)
	if sum := sha256.Sum256(seed); err != nil || hex.EncodeToString(sum[:]) != d.Commitment {
		t.Errorf("the seed %s is not that of %s: %v", d.Seed, d.Commitment, err)
	}
	numbers := make(map[string]int64, d.Tickets)
	last := uint64(0)
	for part := range d.Parts {
		var p struct {
			Tickets []string `json:"tickets"`
		}
		if status := o.read(t, server, fmt.Sprintf("/tickets/%d", part+1), &p); status != http.StatusOK {
			t.Fatalf("part %d: %d", part+1, status)
		}
		for _, text := range p.Tickets {
			ticket, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			mac := hmac.New(sha256.New, seed)
			mac.Write(ticket)
			score, _ := bits.Mul64(binary.BigEndian.Uint64(mac.Sum(nil)), uint64(d.UptoMicros-d.FromMicros))
			if score < last {
				t.Errorf("number %d stands at %d, the one before at %d", len(numbers)+1, score, last)
			}
			last = score
			numbers[text] = int64(len(numbers)) + 1
		}
	}
	if len(numbers) != d.Tickets {
		t.Errorf("%d different tickets are on a list of %d", len(numbers), d.Tickets)
	}
	drawn := 0
	var wrong []string
	o.crowd.mu.Lock()
	defer o.crowd.mu.Unlock()
	for _, v := range o.crowd.visitors {
		raw, err := base64.RawURLEncoding.DecodeString(v.token)
		if err != nil || len(raw) < 10 {
			continue // it never got an answer, and counts as lost elsewhere
		}
		sum := sha256.Sum256(slices.Concat([]byte(o.zoneID), []byte{0}, []byte(saleName), []byte{0}, raw[2:10]))
		v.drawn = numbers[hex.EncodeToString(sum[:16])]
		if gathered := v.arrived/1000 >= d.GathersAt && v.arrived/1000 < d.SettlesAt; gathered != (v.drawn != 0) {
			wrong = append(wrong, fmt.Sprintf("%s arrived at %d, and has the number %d", v.name, v.arrived, v.drawn))
		}
		if v.drawn != 0 {
			drawn++
		}
	}
	for _, text := range some(wrong) {
		t.Errorf("%d are not on the list as they came, among them %s", len(wrong), text)
	}
	if drawn != d.Tickets {
		t.Errorf("%d tickets are drawn, and %d visitors have one", d.Tickets, drawn)
	}
	return drawn
}

// figures are those of an opening.
type figures struct {
	// opened is when the first was let in, after the time; used is the share of the first two windows'
	// limits that was let in, in percent.
	opened time.Duration
	used   [2]float64
	// busiest is the second with the most requests in the minute about the opening, settled their mean
	// over the time in which the line is settled.
	busiest, settled float64
}

// measure counts what the crowd saw, the line being settled between two times.
func (o *opening) measure(settledFrom, settledUntil time.Time) (f figures) {
	rates := window.RatesOf(o.zones[0])
	opens := o.inStore(o.opens)
	for i := range f.used {
		from := opens.Add(time.Duration(i) * o.zones[0].Window())
		f.used[i] = 100 * float64(o.crowd.entered(o.zoneID, from.Add(-time.Millisecond), from.Add(o.zones[0].Window()-time.Millisecond))) / float64(rates.Limit)
	}
	o.crowd.mu.Lock()
	defer o.crowd.mu.Unlock()
	first := int64(0)
	for _, v := range o.crowd.visitors {
		if v.admitted != 0 && (first == 0 || v.admitted < first) {
			first = v.admitted
		}
	}
	f.opened = time.Duration(first-opens.UnixMilli()) * time.Millisecond
	var seconds [60]int
	settled := 0
	for _, c := range o.crowd.calls[o.zoneID] {
		if i := c.at.Sub(o.opens.Add(-30 * time.Second)); i >= 0 && i < time.Minute {
			seconds[int(i/time.Second)]++
		}
		if c.at.After(settledFrom) && c.at.Before(settledUntil) {
			settled++
		}
	}
	f.busiest = float64(slices.Max(seconds[:]))
	f.settled = float64(settled) / settledUntil.Sub(settledFrom).Seconds()
	return f
}

// aSmallSale gather where the machine has other things to do.
const aSmallSale = 1_000

// forSale is a zone in which so many are let in a minute.
func forSale(perMinute int64) zone.Settings {
	z := busy("SALE")
	z.PerMinute = perMinute
	return z
}

// TestOpening: two servers, and a crowd that gathers over HTTP. They are let in at the time, not before,
// and stand as the draw says.
func TestOpening(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	startOpening(t, setUp(t, "none: a sale opens", e.url(), forSale(1200)), e, 8*time.Second).play(t, e)
}

// play has a small crowd gather and go in, and judges what it saw.
func (o *opening) play(t *testing.T, e *engine) {
	t.Helper()
	o.engines, o.loses = append(o.engines, e), losesNothing
	o.gather(t, aSmallSale)
	o.crowd.arriveFrom(t.Context(), o.zoneID, aFew, time.Until(o.settles)+2*time.Second, time.Second)
	o.passes(t, 0)
	o.breaks()
	o.mends(o.opens)
	o.passes(t, 2*o.zones[0].Window())
	o.settle(t)
	drawn := o.prove(t, 1)
	f := o.measure(o.opens.Add(o.zones[0].Window()), o.opens.Add(2*o.zones[0].Window()))
	o.finish(t)
	o.inOrder(t)
	t.Logf("%d drawn, %+v", drawn, f)
	if f.opened < 0 || f.opened > soonOpened+o.slack {
		t.Errorf("the first was let in %v after the opening; the machine was %v late", f.opened, o.slack)
	}
}

// soonOpened is how soon after its time a sale opens.
const soonOpened = time.Second

// passes returns so long after the opening.
func (o *opening) passes(t *testing.T, after time.Duration) {
	t.Helper()
	at := o.opens.Add(after)
	await(t, time.Until(at)+settleTimeout, "time passes", func() bool { return !time.Now().Before(at) })
}
