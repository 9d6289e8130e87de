package site_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	fixture "github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

// shop is a site whose zone has a cap of one, where half a minute has passed.
type shop struct{ *room }

func newShop(t *testing.T, change func(*zone.Settings)) shop {
	t.Helper()
	r := newRoom(t, 600)
	r.set(func(s *zone.Settings) {
		s.MaxInside, s.SessionSeconds, s.PassTTLSeconds = 1, 60, 30
		if change != nil {
			change(s)
		}
	})
	r.Zones.RunOnce(t.Context())
	s := shop{r}
	s.wait(5)
	return s
}

// wait has seconds pass, in which the server tells the store of sessions as it does in the background.
func (s shop) wait(seconds int) {
	for range seconds {
		s.Forward(time.Second)
		s.Zones.ReportInsideOnce(s.t.Context())
	}
}

func (s shop) inside(want int64) {
	s.t.Helper()
	s.Zones.ReportInsideOnce(s.t.Context())
	stats, err := s.Store.Observe(s.t.Context(), zoneID, 0)
	fixture.Must(s.t, err)
	if stats.State.Inside != want {
		s.t.Fatalf("%d are inside, want %d", stats.State.Inside, want)
	}
}

// asks sends the gate a request for a page, with what the browser keeps; it returns what it keeps afterwards.
func (s shop) asks(uri, kept string, want int) string {
	s.t.Helper()
	header := with(opens, "Sec-Fetch-Site", "same-origin")
	if kept != "" {
		header = with(header, "Cookie", kept)
	}
	w := s.ask("nginx", http.MethodGet, uri, header...)
	if w.Code != want {
		s.t.Fatalf("%s: %d %v, want %d", uri, w.Code, w.Header(), want)
	}
	if now := cookie(w); now != "" {
		return now
	}
	return kept
}

// TestRenewalIsTold: the store hears of a session that the gate renews, and counts it for as long as the visitor's cookie is good.
func TestRenewalIsTold(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	kept := s.asks("/", "", http.StatusOK)
	s.wait(35)
	anew := s.asks("/", kept, http.StatusOK)
	if anew == kept {
		t.Fatal("the session was not renewed")
	}
	s.wait(59)
	s.inside(1)
	s.asks("/", "", http.StatusUnauthorized)
	s.wait(2)
	s.inside(0)
}

// TestRenewedInTime: no session is renewed so late that it might have ended before the store hears of that.
func TestRenewedInTime(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	kept := s.asks("/", "", http.StatusOK)
	s.wait(44)
	s.Forward(15 * time.Second)
	s.Zones.ReportInsideOnce(t.Context())
	s.Forward(700 * time.Millisecond) // a session begins with a whole second
	if s.asks("/", kept, http.StatusOK) != kept {
		t.Error("renewed in the last 200 ms")
	}
	s.wait(4)
	s.inside(0)
}

// TestUsedPassIsNobody: a pass that was used before is refused, and whoever shows it stays no longer inside.
func TestUsedPassIsNobody(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(z *zone.Settings) { z.PassTTLSeconds = 70 })
	id := token.NewID()
	a, err := s.Store.Join(t.Context(), zoneID, id)
	fixture.Must(t, err)
	shown := s.passOf(pass.Grant{ZoneID: zoneID, ID: id, AdmittedAtMillis: a.AdmittedAtMillis, ExpiresAtMillis: a.ExpiresAtMillis})
	app := func(want int) {
		t.Helper()
		if w := s.ask("caddy", http.MethodGet, "/api", site.AppHeader, shown); w.Code != want {
			t.Fatalf("the app: %d, want %d", w.Code, want)
		}
	}
	app(http.StatusOK)
	s.wait(50)
	app(http.StatusTooManyRequests)
	s.wait(21)
	s.inside(0)
}

// TestByAdmission: where admissions count, a session lasts for as long as its admission, and is not renewed.
func TestByAdmission(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(z *zone.Settings) { z.InsideBy, z.PassTTLSeconds = zone.InsideByAdmission, 300 })
	a, err := s.Store.Join(t.Context(), zoneID, token.NewID())
	fixture.Must(t, err)
	shown := s.passOf(pass.Grant{ZoneID: zoneID, ID: a.Place.ID, AdmittedAtMillis: a.AdmittedAtMillis, ExpiresAtMillis: a.ExpiresAtMillis})
	s.wait(20)
	_, held, _ := strings.Cut(cookie(s.shows(shown)), "=")
	kept := "__Host-waitingroom-" + zoneID + "=" + held
	s.wait(25)
	if s.asks("/", kept, http.StatusOK) != kept {
		t.Error("the session was renewed")
	}
	s.wait(14)
	s.inside(1)
	s.asks("/", kept, http.StatusOK)
	s.wait(1)
	s.inside(0)
	s.asks("/", "", http.StatusOK)
	if w := s.ask("nginx", http.MethodGet, "/", with(opens, "Cookie", kept)...); w.Code == http.StatusOK {
		t.Error("the first goes on beside the next")
	}
	s.wait(61)
	if w := s.shows(shown); cookie(w) != "" {
		t.Error("a pass began a session after its admission was over")
	}
}

// TestDonePathsWithAQuery: a pattern of donePaths may name parameters, as one of bypassPaths may.
func TestDonePathsWithAQuery(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(z *zone.Settings) { z.DonePaths = []string{"/index.php?route=checkout/success*&*"} })
	kept := s.asks("/", "", http.StatusOK)
	s.asks("/index.php?route=checkout/cart", kept, http.StatusOK)
	s.inside(1)
	s.asks("/index.php?order=7&route=checkout/success", kept, http.StatusOK)
	s.inside(0)
}

// TestRevokedStaysSo: a session that was revoked is refused where nobody is counted any more, too.
func TestRevokedStaysSo(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	kept := s.asks("/", "", http.StatusOK)
	s.set(func(z *zone.Settings) { z.InsideState.RevokedUpToMillis = s.Now().UnixMilli(); z.PerMinute = 0 })
	s.set(func(z *zone.Settings) { z.MaxInside = 0 })
	s.Zones.RunOnce(t.Context())
	var w *httptest.ResponseRecorder
	if w = s.ask("nginx", http.MethodGet, "/", with(opens, "Cookie", kept)...); w.Code == http.StatusOK {
		t.Error("a session that was revoked goes on when nobody is counted")
	}
}
