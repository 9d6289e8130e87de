package pass_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	signer "github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/pass"
)

// verifier has its key set in a file.
func verifier(tb testing.TB, once pass.Once) *pass.Verifier {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "jwks.json")
	must(tb, os.WriteFile(file, newSigner(tb, 1).JWKS(), 0o600))
	v, err := pass.Open(tb.Context(), pass.Options{KeySet: file, Once: once})
	must(tb, err)
	tb.Cleanup(v.Close)
	return v
}

// serve asks a handler that tells whose pass it was let through with.
func serve(v *pass.Verifier, r *http.Request, options ...pass.Option) *httptest.ResponseRecorder {
	h := v.Middleware(testZone, options...)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p, ok := pass.From(r.Context()); ok {
			w.Header().Set("Visitor", p.Visitor)
		}
	}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// get is a request with these headers: name, value, name, value.
func get(address string, header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, address, http.NoBody)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

const browser = "text/html,application/xhtml+xml,*/*;q=0.8"

func TestWhereThePassIs(t *testing.T) {
	t.Parallel()
	v := verifier(t, nil)
	good := issue(t, newSigner(t, 1))
	old := issue(t, newSigner(t, 1), func(g *signer.Grant) { g.AdmittedAtMillis -= 600_000; g.ExpiresAtMillis -= 600_000 })
	options := []pass.Option{pass.Header("X-Waiting-Room"), pass.Header("X-Other")}
	for name, tt := range map[string]struct {
		r    *http.Request
		want string
	}{
		"a bearer":                {get("/", "Authorization", "Bearer "+good), ""},
		"a bearer in small":       {get("/", "Authorization", "bearer  "+good), ""},
		"another scheme":          {get("/", "Authorization", "Basic "+good), "pass_required"},
		"a header":                {get("/", "X-Waiting-Room", good), ""},
		"the second header":       {get("/", "X-Other", good), ""},
		"a header of nobody's":    {get("/", "X-Nobody", good), "pass_required"},
		"the query":               {get("/?a=b&waiting_room_pass=" + good), ""},
		"the query, again":        {get("/?waiting_room_pass=" + old + "&waiting_room_pass=" + good), ""},
		"nothing":                 {get("/"), "pass_required"},
		"another bearer, besides": {get("/", "Authorization", "Bearer "+good, "X-Other", "a.b.c"), ""},
		"an old one, besides":     {get("/?waiting_room_pass="+old, "X-Other", good), ""},
		"an old one":              {get("/?waiting_room_pass=" + old), "pass_expired"},
		"garbage":                 {get("/", "X-Other", "x"), "pass_invalid"},
		"another zone's": {
			get("/", "X-Other", issue(t, newSigner(t, 1), func(g *signer.Grant) { g.ZoneID = "OTHER" })), "pass_invalid",
		},
	} {
		w := serve(v, tt.r, options...)
		if tt.want == "" && (w.Code != http.StatusOK || w.Header().Get("Visitor") != "0102030405060708") {
			t.Errorf("%s: %d %v %s", name, w.Code, w.Header(), w.Body)
		}
		if tt.want != "" && (w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), `"code":"`+tt.want+`"`)) {
			t.Errorf("%s: %d %s, want %s", name, w.Code, w.Body, tt.want)
		}
	}
}

// TestToTheWaitingPage: a browser that goes to a page is sent to wait, and from there to
// where it wanted to go; nothing else is.
func TestToTheWaitingPage(t *testing.T) {
	t.Parallel()
	v := verifier(t, nil)
	old := issue(t, newSigner(t, 1), func(g *signer.Grant) { g.AdmittedAtMillis -= 600_000; g.ExpiresAtMillis -= 600_000 })
	room := pass.Room("https://queue.example/")
	overTLS := get("https://shop.example/a", "Sec-Fetch-Mode", "navigate")
	overTLS.TLS = &tls.ConnectionState{}
	stripped := get("/shop/a?b=c", "Accept", browser)
	stripped.URL.Path = "/a" // as http.StripPrefix does it
	post := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	post.Header.Set("Accept", browser)
	head := httptest.NewRequest(http.MethodHead, "/a", http.NoBody)
	head.Header.Set("Accept", browser)
	for name, tt := range map[string]struct {
		r       *http.Request
		options []pass.Option
		to      string // "" for none
	}{
		"a page":            {get("/", "Accept", browser), nil, "http://example.com/"},
		"HEAD":              {head, nil, "http://example.com/a"},
		"a new browser":     {get("/", "Sec-Fetch-Mode", "navigate", "Accept", "*/*"), nil, "http://example.com/"},
		"over TLS":          {overTLS, nil, "https://shop.example/a"},
		"behind a proxy":    {get("/a", "Accept", browser), []pass.Option{pass.Origin("https://shop.example/")}, "https://shop.example/a"},
		"behind a prefix":   {stripped, nil, "http://example.com/shop/a?b=c"},
		"deep":              {get("/t/%E5%86%99?q=a%20b&q=%26&&x=1+2;3", "Accept", browser), nil, "http://example.com/t/%E5%86%99?q=a%20b&q=%26&x=1+2;3"},
		"with an old pass":  {get("/a?b=c&waiting_room_pass="+old+"&d", "Accept", browser), nil, "http://example.com/a?b=c&d"},
		"an old pass alone": {get("/a?waiting_room_pass="+old, "Accept", browser), nil, "http://example.com/a"},
		"a bad header":      {get("/a", "Accept", browser, "X-Other", "x"), []pass.Option{pass.Header("X-Other")}, "http://example.com/a"},
		"long":              {get("/a?"+strings.Repeat("b", 2048), "Accept", browser), nil, "http://example.com/a"},
		"longer":            {get("/"+strings.Repeat("b", 2048), "Accept", browser), nil, "http://example.com/"},
		"not //":            {get("//evil.example/a", "Accept", browser), nil, "http://example.com/.//evil.example/a"},
		"a script's":        {get("/", "Sec-Fetch-Mode", "cors", "Accept", browser), nil, ""},
		"an app's":          {get("/", "Accept", "application/json"), nil, ""},
		"a form's":          {post, nil, ""},
	} {
		w := serve(v, tt.r, append(tt.options, room)...)
		location, err := url.Parse(w.Header().Get("Location"))
		must(t, err)
		switch {
		case tt.to == "":
			if w.Code != http.StatusUnauthorized || w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: %d %v", name, w.Code, w.Header())
			}
		case w.Code != http.StatusFound || location.Scheme+"://"+location.Host+location.Path != "https://queue.example/wait/TEST_ZONE":
			t.Errorf("%s: %d to %v", name, w.Code, location)
		case len(location.Query()) != 1 || location.Query().Get("to") != tt.to:
			t.Errorf("%s: back to %q, want %q", name, location.Query(), tt.to)
		}
		if w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: it may be kept", name)
		}
	}
	if w := serve(v, get("/a", "Accept", browser), pass.Room("")); w.Header().Get("Location") != "/wait/TEST_ZONE?to=http%3A%2F%2Fexample.com%2Fa" {
		t.Errorf("a page of the same origin: %v", w.Header())
	}
}

// TestNoLoop: the waiting page would bring back the same pass for ever, so a browser that
// comes with one that is no good goes there by a click.
func TestNoLoop(t *testing.T) {
	t.Parallel()
	v := verifier(t, pass.InMemory(10))
	used := issue(t, newSigner(t, 1))
	accepted(t, v, used)
	other := issue(t, newSigner(t, 1), func(g *signer.Grant) { g.ZoneID = "OTHER" })
	old := issue(t, newSigner(t, 1), func(g *signer.Grant) { g.AdmittedAtMillis -= 600_000; g.ExpiresAtMillis -= 600_000 })
	for _, p := range []string{used, other, "x"} {
		w := serve(v, get(`/a?b="<&waiting_room_pass=`+p, "Accept", browser, "X-Other", old),
			pass.Room("https://queue.example/a&b"), pass.Header("X-Other"))
		if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), `<a href="https://queue.example/a&amp;b/wait/TEST_ZONE?to=http%3A%2F%2Fexample.com%2Fa%3Fb%3D%22%3C&amp;again=1">`) {
			t.Errorf("%s: %d %s", p, w.Code, w.Body)
		}
	}
}

// TestUnverified: while nobody knows, nobody is sent away for good.
func TestUnverified(t *testing.T) {
	t.Parallel()
	v := verifier(t, brokenOnce)
	w := serve(v, get("/?waiting_room_pass="+issue(t, newSigner(t, 1)), "Accept", browser), pass.Room("https://queue.example"))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"code":"pass_unverified"`) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

// TestProblem: the document is whole, and its type leads to a heading of docs/integrate/pass.md.
func TestProblem(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/integrate/pass.md")
	must(t, err)
	used := issue(t, newSigner(t, 1))
	old := issue(t, newSigner(t, 1), func(g *signer.Grant) { g.AdmittedAtMillis -= 600_000; g.ExpiresAtMillis -= 600_000 })
	v := verifier(t, pass.InMemory(10))
	accepted(t, v, used)
	codes := make(map[string]bool)
	for _, w := range []*httptest.ResponseRecorder{
		serve(v, get("/"), pass.Room("https://queue.example")), serve(v, get("/", "Authorization", "Bearer x")),
		serve(v, get("/", "Authorization", "Bearer "+used)), serve(v, get("/", "Authorization", "Bearer "+old)),
		serve(verifier(t, brokenOnce), get("/", "Authorization", "Bearer "+used)),
	} {
		var p struct {
			Type   string `json:"type"`
			Title  string `json:"title"`
			Status int    `json:"status"`
			Detail string `json:"detail"`
			Code   string `json:"code"`
			ZoneID string `json:"zoneId"`
			Join   string `json:"join"`
			Page   string `json:"page"`
		}
		must(t, json.Unmarshal(w.Body.Bytes(), &p))
		codes[p.Code] = true
		if p.Status != w.Code || p.Title == "" || p.Detail == "" || p.ZoneID != testZone || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%d %+v", w.Code, p)
		}
		if challenge := w.Header().Get("WWW-Authenticate"); (challenge == `Bearer realm="TEST_ZONE"`) != (w.Code == http.StatusUnauthorized) {
			t.Errorf("%s: a challenge of %q", p.Code, challenge)
		}
		if told := p.Page == "https://queue.example/wait/TEST_ZONE" && p.Join == "https://queue.example/traffic/wait"; told != (p.Code == "pass_required") {
			t.Errorf("%s: the waiting page is %q, to join %q", p.Code, p.Page, p.Join)
		}
		if file, heading, _ := strings.Cut(p.Type, "#"); !strings.HasSuffix(file, "/docs/integrate/pass.md") ||
			!regexp.MustCompile(`(?m)^#+ `+heading+`$`).Match(page) {
			t.Errorf("%s leads nowhere", p.Type)
		}
	}
	if len(codes) != 5 {
		t.Errorf("there are %v", codes)
	}
}

func TestWithoutPass(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"/":                                  "/",
		"/?waiting_room_pass=a":              "/",
		"/a?waiting_room_pass=a&b=c":         "/a?b=c",
		"/a?b=c&waiting_room_pass=a":         "/a?b=c",
		"/a?b=c&waiting_room_pass&d=e":       "/a?b=c&d=e",
		"/a?waiting%5Froom_pass=a":           "/a",
		"/a?my_waiting_room_pass=a":          "/a?my_waiting_room_pass=a",
		"//evil.example/?a":                  "/.//evil.example/?a",
		"/%2F/a%20b?c=%20":                   "/%2F/a%20b?c=%20",
		"http://shop.example//evil.example/": "/.//evil.example/",
	} {
		if got := pass.WithoutPass(get(address)); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// TestWaitEndsWithTheRequest: whoever hangs up does not wait for keys.
func TestWaitEndsWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newRoom(t, newSigner(t, 1))
		room.hang()
		v := room.open(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		w := serve(v, get("/", "Authorization", "Bearer "+issue(t, newSigner(t, 1))).WithContext(ctx))
		if waited := time.Since(begun); w.Code != http.StatusServiceUnavailable || waited != time.Second {
			t.Errorf("%d after %v", w.Code, waited)
		}
	})
}
