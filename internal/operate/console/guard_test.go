package console_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// routes are one request of each kind, and what its answer is to somebody who
// is logged in.
var routes = []struct {
	method, path string
	form         url.Values
	want         int
}{
	{"GET", "", nil, 200},
	{"GET", "changes", nil, 200},
	{"GET", "new", nil, 200},
	{"POST", "new", url.Values{"zoneId": {"N"}}, 303},
	{"GET", "zones/Z", nil, 200},
	{"GET", "zones/NONE", nil, 404},
	{"GET", "zones/Z/history", nil, 200},
	{"GET", "zones/NONE/history", nil, 404},
	{"GET", "zones/NONE/events", nil, 404},
	{"GET", "zones/Z/change?perMinute=900", nil, 200},
	{"GET", "zones/NONE/change?perMinute=900", nil, 404},
	{"POST", "zones/Z/change", url.Values{"was.perMinute": {"600"}, "perMinute": {"900"}}, 303},
	{"POST", "zones/NONE/change", url.Values{}, 404},
	{"POST", "zones/Z/undo", url.Values{"change": {"none"}}, 404},
	{"GET", "zones/Z/delete", nil, 200},
	{"GET", "zones/NONE/delete", nil, 404},
	{"POST", "zones/Z/delete", url.Values{"confirm": {"Y"}}, 422},
	{"GET", "nothing", nil, 404},
	{"DELETE", "zones/Z", nil, 404},
	{"POST", "logout", nil, 303},
}

func (p *person) ask(method, path string, form url.Values, header ...string) *httptest.ResponseRecorder {
	if method == http.MethodPost {
		return p.post(path, form, header...)
	}
	return p.send(httptest.NewRequest(method, "/console/"+path, nil), header...)
}

// unwelcome is what the policy would forbid, or a page that needs the internet.
var unwelcome = regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script>|(src|href|action)="(https?:)?//`)

// TestEveryRoute: with a session each answers as it should. Without one, or with one that was forged, pages lead to the log in, and
// a script is told so. What a browser sends for another site is refused. Each answer has the headers that protect it.
func TestEveryRoute(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	was := r.put("Z")
	p := r.enter("Anna")
	check := func(what string, w *httptest.ResponseRecorder, want int) {
		t.Helper()
		if w.Code != want {
			t.Errorf("%s: %d, want %d: %s", what, w.Code, want, words(w.Body.String()))
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", what, name, got, want)
			}
		}
		if found := unwelcome.FindString(w.Body.String()); found != "" {
			t.Errorf("%s: the page has %q", what, found)
		}
	}
	for _, tt := range routes {
		what := tt.method + " " + tt.path
		for _, cookie := range []string{"", "AAAAAP______AAAAAAAAAAAAAAAAAAAAAEFubmE.AAAA"} {
			nobody := &person{room: r, cookies: map[string]string{"queue_console": cookie}}
			w := nobody.ask(tt.method, tt.path, tt.form)
			check(what+", logged out", w, http.StatusSeeOther)
			want := "/console/login"
			if tt.method == http.MethodGet && tt.path != "" {
				want += "?next=" + url.QueryEscape("/console/"+tt.path)
			}
			if to := w.Header().Get("Location"); to != want {
				t.Errorf("%s leads to %q, want %q", what, to, want)
			}
			check(what+", by a script", nobody.ask(tt.method, tt.path, tt.form, "Accept", "application/json"), http.StatusUnauthorized)
		}
		if tt.method == http.MethodPost {
			for _, header := range [][]string{
				{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"},
			} {
				check(what+" for another site", p.post(tt.path, tt.form, header...), http.StatusForbidden)
			}
		}
	}
	if w := p.post("login", url.Values{"who": {"Eve"}, "token": {token}}, "Origin", "null"); w.Code != http.StatusForbidden || len(w.Result().Cookies()) > 0 {
		t.Errorf("a log in for another site: %d", w.Code)
	}
	if got, refused := r.zone("Z"), r.refused(); !got.Equal(was) || refused["cross_origin"] == 0 {
		t.Errorf("the zone is %+v; counted %v", got, refused)
	}
	for _, tt := range routes {
		check(tt.method+" "+tt.path, p.ask(tt.method, tt.path, tt.form, "Sec-Fetch-Site", "same-origin", "Origin", "http://example.com"), tt.want)
	}
	w := httptest.NewRecorder()
	r.http.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	check("/", w, http.StatusSeeOther)
	if strings.Contains(r.logs.String(), "failed") || w.Header().Get("Location") != "/console/" {
		t.Errorf("/ leads to %q; logged:\n%s", w.Header().Get("Location"), r.logs)
	}
}

func TestLogIn(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	p := &person{room: r, cookies: map[string]string{}, host: "queue.example"}
	w := p.post("login", url.Values{"who": {`<script>alert("x")</script>`}, "token": {"wrong-" + token}})
	shows(t, w, "That is no token of an operator.")
	if w.Code != http.StatusUnauthorized || len(w.Result().Cookies()) > 0 {
		t.Errorf("a wrong token: %d %v", w.Code, w.Result().Cookies())
	}
	if body := w.Body.String(); strings.Contains(body, "<script>") || strings.Contains(body, "wrong-") {
		t.Errorf("what was typed comes back:\n%s", body)
	}
	shows(t, p.post("login", url.Values{"who": {" "}, "token": {token}}), "Enter your name")

	w = p.post("login", url.Values{"who": {" Anna "}, "token": {token + "\n"}, "next": {"/console/zones/Z?x=1"}}, "X-Forwarded-Proto", "https")
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/console/zones/Z?x=1" {
		t.Errorf("log in: %d %q", w.Code, w.Header().Get("Location"))
	}
	set := w.Header().Get("Set-Cookie")
	for _, want := range []string{"__Host-queue_console=", "HttpOnly", "SameSite=Strict", "Secure", "Path=/;", "Max-Age=43200"} {
		if !strings.Contains(set, want) {
			t.Errorf("the cookie is not %s: %s", want, set)
		}
	}
	if w := p.get(""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), ">Anna<") {
		t.Errorf("logged in: %d", w.Code)
	}
	if w := p.get("login?next=/console/changes"); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/console/changes" {
		t.Errorf("the log in, logged in: %d %q", w.Code, w.Header().Get("Location"))
	}
	stolen := p.cookies["__Host-queue_console"]
	p.post("logout", nil)
	p.cookies["__Host-queue_console"] = stolen
	if w := p.get(""); w.Code != http.StatusSeeOther {
		t.Errorf("the cookie is good after the log out: %d", w.Code)
	}
	if logs := r.logs.String(); strings.Contains(logs, token) || !strings.Contains(logs, "route=/console/login from=192.0.2.1 who=") {
		t.Errorf("logged:\n%s", logs)
	}
}

func TestLogInLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	for _, next := range []string{
		"https://evil.example/console/", "//evil.example/console/", `/\evil.example`, "/admin/zones", "console/", "javascript:alert(1)",
		"/console/login", "/console/logout", "http:/console/", "", "\x00", "/console/../admin", `/console/../\evil.example`, `/console/\evil.example`,
	} {
		p := &person{room: r, cookies: map[string]string{}}
		w := p.post("login", url.Values{"who": {"Anna"}, "token": {token}, "next": {next}})
		if got := w.Header().Get("Location"); got != "/console/" {
			t.Errorf("%q leads to %q", next, got)
		}
	}
}

// TestLogInIsSlowedDown: guesses, as everywhere on this listener (see package operator); the right token never is.
func TestLogInIsSlowedDown(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	p := &person{room: r, cookies: map[string]string{}}
	var w *httptest.ResponseRecorder
	for range 6 {
		w = p.post("login", url.Values{"who": {"Eve"}, "token": {"guess"}})
	}
	shows(t, w, "Wrong tokens came too often; wait some seconds.")
	if after := w.Header().Get("Retry-After"); w.Code != http.StatusTooManyRequests || after < "2" || after > "4" {
		t.Errorf("the sixth guess: %d %q", w.Code, after)
	}
	if w := p.post("login", url.Values{"who": {"Anna"}, "token": {token}}); w.Code != http.StatusSeeOther {
		t.Errorf("the right one, locked out by guesses: %d", w.Code)
	}
	if got := r.refused(); got["unauthorized"] != 5 || got["too_many_wrong_tokens"] != 1 {
		t.Errorf("counted: %v", got)
	}
}

func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	p := r.enter("Anna")
	if w := p.post("new", url.Values{"zoneId": {strings.Repeat("x", 540_000)}}); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("540 KB: %d", w.Code)
	}
	if w := p.post("new", nil, "Content-Type", "application/x-www-form-urlencoded; a"); w.Code != http.StatusBadRequest {
		t.Errorf("no form: %d", w.Code)
	}
}

// href are the files that a page refers to.
var href = regexp.MustCompile(`(?:src|href)="(/console/assets/[^"]+)"`)

func TestAssets(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put("Z")
	nobody := &person{room: r, cookies: map[string]string{}}
	pages := r.enter("Anna").get("zones/Z").Body.String() + nobody.get("login").Body.String()
	found := href.FindAllStringSubmatch(pages, -1)
	if len(found) < 6 {
		t.Fatalf("%d files are referred to", len(found))
	}
	for _, m := range found {
		w := nobody.get(strings.TrimPrefix(m[1], "/console/"))
		if w.Code != http.StatusOK || w.Body.Len() == 0 ||
			w.Header().Get("Cache-Control") != "no-cache" || w.Header().Get("Content-Security-Policy") != policy {
			t.Errorf("%s: %d %v", m[1], w.Code, w.Header())
		}
		kind := w.Header().Get("Content-Type")
		if strings.HasSuffix(m[1], ".js") && kind != "text/javascript; charset=utf-8" || strings.HasSuffix(m[1], ".css") && kind != "text/css; charset=utf-8" {
			t.Errorf("%s is %s", m[1], kind)
		}
		if w := nobody.get(strings.TrimPrefix(m[1], "/console/"), "If-None-Match", w.Header().Get("ETag")); w.Code != http.StatusNotModified {
			t.Errorf("%s once more: %d", m[1], w.Code)
		}
	}
}

// TestWhatIsNotKeptIsSaid on every page, to operators who are logged in alone.
func TestWhatIsNotKeptIsSaid(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	p := r.enter("Olga")
	for _, path := range []string{"", "changes"} {
		r.unkept = nil
		lacks(t, p.get(path), "not kept")
		r.unkept = errors.New("no space left on <device>")
		shows(t, p.get(path), "not kept", "no space left on <device>")
	}
	p.cookies = map[string]string{}
	lacks(t, p.get("login"), "no space")
}
