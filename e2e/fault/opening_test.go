package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/schedule"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

// saleName is that of the event.
const saleName = "noon"

// opening is a zone with a draw: a crowd gathers for so long, and is admitted at a time.
type opening struct {
	*experiment
	zoneID string
	// gathers, settles and opens are on this process's clock, which the store's is ahead of.
	gathers, settles, opens time.Time
	ahead                   time.Duration
}

// announced is how long before people gather the event is listed: servers tell each other
// within a second.
const announced = 5 * time.Second

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
	s.servers[0].Operate(t, http.MethodPatch, "/admin/zones/"+o.zoneID, string(list))
	for i := range s.servers {
		room.Await(t, "a server knows the commitment", func() bool {
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
	o.crowd.arriveFrom(o.zoneID, n, time.Until(o.gathers)+length/10, length*8/10)
}

// url is where a server publishes the draw.
func (o *opening) url(server int) string {
	return o.servers[server].Public + "/traffic/zones/" + o.zoneID + "/events/" + saleName + "/draw"
}

func (o *opening) draw(t *testing.T, server int) (d schedule.Draw, status int) {
	t.Helper()
	r := room.Request(t, http.MethodGet, o.url(server), "")
	if r.Status == http.StatusOK {
		if err := json.Unmarshal([]byte(r.Body), &d); err != nil {
			t.Error(err)
		}
	}
	return d, r.Status
}

// prove has queue-server check the list of a server, as anybody can, and gives each visitor its number.
// It returns how many were drawn.
func (o *opening) prove(t *testing.T, server int) int {
	t.Helper()
	var d schedule.Draw
	room.Await(t, "the seed and the list are published", func() bool {
		d, _ = o.draw(t, server)
		return d.Seed != "" && d.ListHash != ""
	})
	if status, said := room.Run(t, nil, "events", "verify", o.url(server)); status != 0 {
		t.Errorf("the draw: %s", said)
	}
	tickets, err := schedule.ReadTickets([]byte(room.Request(t, http.MethodGet, o.url(server)+"/list", "").Body))
	if err != nil {
		t.Fatal(err)
	}
	numbers := make(map[event.Ticket]int64, len(tickets))
	for i, ticket := range tickets {
		numbers[ticket] = int64(i) + 1
	}
	drawn := 0
	var wrong []string
	o.crowd.mu.Lock()
	defer o.crowd.mu.Unlock()
	for _, v := range o.crowd.visitors {
		id, ok := token.VisitorID(v.token)
		if !ok {
			continue // it never got an answer, and counts as lost elsewhere
		}
		v.drawn = numbers[event.TicketOf(o.zoneID, saleName, id)]
		if gathered := d.Holds(v.arrived); gathered != (v.drawn != 0) && !v.straight { // with an admission as its first answer, it is told no arrival
			wrong = append(wrong, fmt.Sprintf("%s arrived at %d, and has the number %d", v.name, v.arrived, v.drawn))
		}
		if v.drawn != 0 {
			drawn++
		}
	}
	if len(wrong) > 0 {
		t.Errorf("%d are not on the list as they came, among them %s", len(wrong), some(wrong))
	}
	if drawn != len(tickets) {
		t.Errorf("%d tickets are drawn, and %d visitors have one", len(tickets), drawn)
	}
	return drawn
}

// opened is when the first was admitted, after the time.
func (o *opening) opened() time.Duration {
	o.crowd.mu.Lock()
	defer o.crowd.mu.Unlock()
	first := int64(0)
	for _, v := range o.crowd.visitors {
		if v.admitted != 0 && (first == 0 || v.admitted < first) {
			first = v.admitted
		}
	}
	return time.Duration(first-o.inStore(o.opens).UnixMilli()) * time.Millisecond
}

// aSmallSale gather unless VISITORS says otherwise, and soonOpened is how soon after its time a sale opens.
const (
	aSmallSale = 1_000
	soonOpened = time.Second
)

// forSale is a zone in which a line of so many lasts longer than it is looked at.
func forSale(visitors int) zone.Settings {
	z := busy("SALE")
	z.PerMinute = max(1200, int64(visitors)*6/100)
	return z
}

// TestOpening: two servers, and a crowd that gathers over HTTP. They are admitted at the time, not before,
// and stand as the draw says.
func TestOpening(t *testing.T) {
	t.Parallel()
	visitors := sizeOf(t, aSmallSale)
	e := startEngine(t)
	o := startOpening(t, setUp(t, "none: a sale opens", e.URL(), forSale(visitors)), e, max(8*time.Second, time.Duration(visitors)*time.Millisecond/2))
	o.loses = losesNothing
	o.gather(t, visitors)
	o.crowd.arriveFrom(o.zoneID, aFew, time.Until(o.settles)+2*time.Second, time.Second)
	o.passes(t, 0)
	o.breaks()
	o.mends(o.opens)
	o.passes(t, 2*o.zones[0].Window())
	o.settle(t)
	drawn, opened := o.prove(t, 1), o.opened()
	o.finish(t)
	o.inOrder(t)
	t.Logf("%d drawn, opened after %v", drawn, opened)
	if opened < 0 {
		t.Errorf("the first was let in %v before the opening", -opened)
	}
	o.within(t, "the first admission, after the opening", opened, soonOpened)
}

// TestOpeningMasterKilled kills the master in the moment in which a sale opens: nobody is lost, all
// stand as drawn, and they are admitted when its replica has taken over.
func TestOpeningMasterKilled(t *testing.T) {
	t.Parallel()
	w := startWatched(t)
	o := startOpening(t, setUp(t, "a sale opens: master killed at opensAt", w.url(), forSale(0)), w.master, 8*time.Second)
	o.loses = losesLast
	o.gather(t, aThousand)
	o.crowd.arriveFrom(o.zoneID, aFew, time.Until(o.settles)+2*time.Second, time.Second)
	o.passes(t, 0)
	o.breaks()
	w.master.Kill()
	o.mends(w.awaitTakeover(t))
	o.settle(t)
	t.Logf("%d were drawn", o.prove(t, 0))
	o.finish(t)
	o.inOrder(t)
}

// passes returns so long after the opening.
func (o *opening) passes(t *testing.T, long time.Duration) {
	t.Helper()
	room.Await(t, "time passes", after(time.Until(o.opens.Add(long))))
}
