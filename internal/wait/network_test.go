package wait_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/zone"
)

// sharing has the room hold networks to a share, with a line.
func (r *server) sharing(t *testing.T) {
	t.Helper()
	r.Set(t, func(s *zone.Settings) { s.PerMinute, s.MaxShareByNetwork = 10, 5 })
	room.Must(t, r.enter(t))
	r.Lined(t, true)
}

func (r *server) joinFrom(address, clientID string) *httptest.ResponseRecorder {
	return r.Send("POST", "/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"clientIp":%q,"clientId":%q}`, zoneID, address, clientID), "From", address)
}

// fill has a network take the places that it gets in an empty zone.
func (r *server) fill(t *testing.T) {
	t.Helper()
	for i := range network.Floor {
		if w := r.joinFrom("2001:db8::1", strconv.Itoa(i)); w.Code != http.StatusOK {
			t.Fatalf("%d: %d %s", i, w.Code, w.Body)
		}
	}
}

// TestShareOfANetwork: a network that has its share is refused before the store is asked, and whoever has a place of it finds that again.
func TestShareOfANetwork(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.sharing(t)
	r.fill(t)
	r.Store.Asked()
	r.Meter.Seen()
	r.Limiter.Asked = nil
	w := r.joinFrom("2001:db8::ffff", "")
	if d := room.Read(t, w); w.Code != http.StatusTooManyRequests || d.Code != "network_share" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if after, err := strconv.Atoi(w.Header().Get("Retry-After")); err != nil || after < 10 || after > 20 {
		t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
	}
	if calls := r.Store.Asked(); len(calls) > 0 || len(r.Limiter.Asked) > 0 {
		t.Errorf("the store was asked for %q, the limiter about %q", calls, r.Limiter.Asked)
	}
	if told := r.Meter.Seen(); !slices.Equal(told, []string{"join TEST_ZONE network_share", "refuse TEST_ZONE network_share"}) {
		t.Errorf("metered %q", told)
	}

	if w := r.joinFrom("2001:db8::ffff", "new"); w.Code != http.StatusTooManyRequests || !slices.Equal(r.Store.Asked(), []string{"poll"}) {
		t.Errorf("a new clientId: %d %s", w.Code, w.Body)
	}
	if w := r.joinFrom("2001:db8::ffff", "7"); w.Code != http.StatusOK || room.Read(t, w).Waiting.Position != 8 {
		t.Errorf("a place that was taken before: %d %s", w.Code, w.Body)
	}
	r.Limiter.Refuses = true
	r.Store.Asked()
	if w := r.joinFrom("2001:db8::ffff", "7"); room.Read(t, w).Code != "too_many_requests" || len(r.Store.Asked()) > 0 {
		t.Errorf("an address that asks too often: %d %s", w.Code, w.Body)
	}
	r.Limiter.Refuses = false
	for address, want := range map[string]int{"2001:db8:0:1::1": http.StatusTooManyRequests, "2001:db8:1::1": http.StatusOK, "203.0.113.1": http.StatusOK, "2001:db8::2": http.StatusTooManyRequests} {
		if w := r.joinFrom(address, ""); w.Code != want {
			t.Errorf("%s: %d %s", address, w.Code, w.Body)
		}
	}
	r.Forward(15 * time.Minute) // keepPlaceSeconds
	if w := r.joinFrom("2001:db8::1", "later"); w.Code != http.StatusOK {
		t.Errorf("a quarter of an hour later: %d %s", w.Code, w.Body)
	}
	if all := r.Shares.List(zone.Defaults(zoneID), 1); all.Joins != 1 || all.Refused != 0 {
		t.Errorf("a quarter of an hour later: %+v", all)
	}
}

// TestPassesThatNobodyUses: with a cap and room, a network that uses none of its admissions is refused before it has all slots, and asked
// for work where the zone asks for some; when it leaves one, it gets another.
func TestPassesThatNobodyUses(t *testing.T) {
	t.Parallel()
	for _, shares := range []int64{5, 0} {
		r := newServer(t)
		r.challenging(t)
		r.Set(t, func(s *zone.Settings) {
			s.PerMinute, s.Burst, s.MaxInside, s.MaxShareByNetwork = 6_000, 100, 50, shares
		})
		r.Forward(10 * time.Second) // the store has been told of those inside
		r.Lined(t, false)
		var tokens []string
		for i := range 50 {
			if d := room.Read(t, r.joinFrom(fmt.Sprintf("198.51.100.%d", i), "")); d.CanEnter {
				tokens = append(tokens, d.Token)
			} else if want := map[int64]string{5: "network_share", 0: "challenge_required"}[shares]; d.Code != want {
				t.Fatalf("number %d: %+v, want %s", i, d, want)
			}
		}
		if len(tokens) != 10 {
			t.Errorf("%d of 50 slots were given to one network", len(tokens))
		}
		if d := room.Read(t, r.joinFrom("203.0.113.1", "")); !d.CanEnter {
			t.Errorf("another network: %+v", d)
		}
		r.Leave(tokens[0])
		if d := room.Read(t, r.joinFrom("198.51.100.1", "")); !d.CanEnter {
			t.Errorf("after one has left: %+v", d)
		}
	}
}

// TestAProofFindsItsPlace: a join with a proof and no clientId is repeated when its network has got its share since.
func TestAProofFindsItsPlace(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.challenging(t)
	r.sharing(t)
	join := func(shown string) *httptest.ResponseRecorder {
		return r.Send("POST", "/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"clientIp":"2001:db8::1","challenge":%q}`, zoneID, shown), "From", "2001:db8::1")
	}
	proof, other := solve(t, r.asked(t, join(""), "required")), solve(t, r.asked(t, join(""), "required"))
	first := join(proof)
	settings := zone.Defaults(zoneID)
	for range network.Floor {
		one, err := r.Shares.Begin(&settings, netip.MustParseAddr("2001:db8::1"), true, true)
		room.Must(t, err)
		one.End(network.Counts{Joins: 1})
	}
	if again := join(proof); first.Code != http.StatusOK || again.Code != http.StatusOK || r.Place(t, room.Read(t, again).Token) != r.Place(t, room.Read(t, first).Token) {
		t.Errorf("%d %s, again %d %s", first.Code, first.Body, again.Code, again.Body)
	}
	if w := join(other); w.Code != http.StatusTooManyRequests || room.Read(t, w).Code != "network_share" {
		t.Errorf("another proof: %d %s", w.Code, w.Body)
	}
}

// TestJoinsThatCount: a join counts when it takes a place, once, however often it is repeated.
func TestJoinsThatCount(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.Set(t, func(s *zone.Settings) { s.MaxShareByNetwork = 5 })
	r.Lined(t, false)
	counted := func(joins, admissions int64) {
		t.Helper()
		if all := r.Shares.List(zone.Defaults(zoneID), 1); all.Joins != joins || all.Admissions != admissions {
			t.Errorf("%+v, want %d joins and %d admissions", all, joins, admissions)
		}
	}
	for range 3 {
		r.joinFrom("2001:db8::1", "in")
		counted(1, 1)
		r.Forward(time.Second)
	}
	for range 3 {
		r.joinFrom("2001:db8::1", "waits")
		counted(2, 1)
		r.Forward(time.Second)
	}
	r.Shares.Admit(r.Zones.Known(zoneID).Settings(), netip.MustParseAddr("2001:db8::1"))
	counted(2, 2)
	r.Store.Fail(line.ErrStoreUnavailable)
	r.joinFrom("2001:db8::1", "away")
	r.Store.Fail(nil)
	for _, status := range []line.Status{line.Full, line.Closed} {
		r.Store.Status = status
		r.joinFrom("2001:db8::1", "turned away")
	}
	counted(2, 2)
	r.Store.Status = line.Waiting
	r.Send("POST", "/traffic/wait", `{"zoneId":"OTHER","clientIp":"2001:db8::1"}`)
	if all := r.Shares.List(zone.Defaults("OTHER"), 1); all.Counts != (network.Counts{}) {
		t.Errorf("a zone that does not exist is counted: %+v", all)
	}
}

// TestWhoHasNoShare: where nobody has to line up, and those who are known, are not refused.
func TestWhoHasNoShare(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(r *server, s *zone.Settings)
		line   bool
		want   string
	}{
		"with a line":              {func(*server, *zone.Settings) {}, true, "network_share"},
		"without":                  {func(*server, *zone.Settings) {}, false, ""},
		"with a share of its own":  {func(_ *server, s *zone.Settings) { s.NetworkShares = []string{"2001:db8::/64=0"} }, false, "network_share"},
		"without a share":          {func(_ *server, s *zone.Settings) { s.MaxShareByNetwork = 0 }, true, ""},
		"open":                     {func(_ *server, s *zone.Settings) { s.Mode = zone.ModeOpen }, true, ""},
		"closed":                   {func(_ *server, s *zone.Settings) { s.Mode = zone.ModeClosed }, true, "zone_closed"},
		"sold out":                 {func(_ *server, s *zone.Settings) { s.SoldOut = zone.Texts{"default": "Gone."} }, true, "sold_out"},
		"by invitation":            {func(_ *server, s *zone.Settings) { s.Invitation = "spring" }, true, "ticket_missing"},
		"a member, by the backend": {func(r *server, _ *zone.Settings) { r.From = room.Backend }, true, ""},
	} {
		r := newServer(t)
		r.sharing(t)
		r.fill(t)
		r.Lined(t, tt.line)
		r.Set(t, func(s *zone.Settings) { tt.change(r, s) })
		if w := r.joinFrom("2001:db8::1", "member"); room.Read(t, w).Code != tt.want {
			t.Errorf("%s: %d %s, want %q", name, w.Code, w.Body, tt.want)
		}
	}
}

// TestARepeatedJoinAfterACancelledDraw: newcomers arrive behind those who were drawn, in the future. A join that is repeated counts once.
func TestARepeatedJoinAfterACancelledDraw(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.sharing(t)
	r.Set(t, func(s *zone.Settings) {
		now := r.Now()
		s.EventState.Draws = []event.Draw{{
			Event: "noon", Nonce: "00", GathersAtMillis: now.UnixMilli() - 1000, SettlesAtMillis: now.Add(time.Hour).UnixMilli(),
			OpensAtMillis: now.Add(time.Hour).UnixMilli(), FromMicros: now.UnixMicro(), UptoMicros: now.Add(time.Hour).UnixMicro(),
		}}
	})
	for range 6 {
		if w := r.joinFrom("2001:db8::1", "ada"); w.Code != http.StatusOK || room.Read(t, w).Waiting.ArrivedAtMicros < r.Now().Add(time.Hour).UnixMicro() {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if all := r.Shares.List(zone.Defaults(zoneID), 1); all.Networks[0].Joins != 1 {
		t.Errorf("%+v", all)
	}
}
