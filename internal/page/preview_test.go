package page_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestPreviewStates: each state has a heading of its own in the language that is asked for, no script, and the colours that are asked for;
// the page with all states has each of them. The public address shows none of it.
func TestPreviewStates(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10)
	pages, err := page.New(nil, nil, nil, nil)
	room.Must(t, err)
	s := zone.Defaults("Z")
	s.PageTitle, s.MessageNear = "Shop", zone.Texts{zone.DefaultText: "Have your card ready."}
	show := func(form url.Values) string {
		t.Helper()
		w, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil)
		req.PostForm = form
		req.Header.Set("Accept-Language", "de")
		room.Must(t, pages.Preview(w, req, s))
		if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "sandbox") || strings.Contains(w.Body.String(), "<script") {
			t.Errorf("%v: %s %s", form, policy, w.Body)
		}
		return w.Body.String()
	}
	heading := regexp.MustCompile(`<h1 id="heading" tabindex="-1">([^<]+)</h1>`)
	all := html.UnescapeString(show(url.Values{"previewAll": {"all"}}))
	told := map[string]string{}
	for _, one := range page.States() {
		text := show(url.Values{"previewState": {one.Key}, "previewScheme": {"dark"}})
		found := heading.FindString(text)
		if found == "" || !strings.Contains(text, `<html lang="de"`) || strings.Contains(text, "prefers-color-scheme") || !strings.Contains(text, "color-scheme: dark") {
			t.Errorf("%s: %s", one.Key, text)
		}
		if !strings.Contains(all, found) || !strings.Contains(all, one.Label) {
			t.Errorf("not among all: %s", one.Key)
		}
		_, body, _ := strings.Cut(text, "<main>")
		if other, seen := told[body]; seen {
			t.Errorf("%s shows what %s shows", one.Key, other)
		}
		told[body] = one.Key
		if (one.Key == "near") != strings.Contains(text, "card ready") {
			t.Errorf("%s: the text for those near the front", one.Key)
		}
	}
	b := r.browser()
	for _, name := range []string{"state", "previewState", "previewAll"} {
		if w := b.get("?" + name + "=soldOut"); strings.Contains(w.Body.String(), "Sold out") {
			t.Errorf("the public page obeys %s", name)
		}
	}
}

// TestExport: the pages of a gateway are in all languages, and have the zone's look. They need nothing, run nothing and say nothing
// that is over.
func TestExport(t *testing.T) {
	t.Parallel()
	s := zone.Defaults("Z")
	s.PageTitle, s.PageColor, s.Message = "Café & Söhne", "#0a7d32", zone.Texts{zone.DefaultText: "At noon."}
	s.PageFooter = zone.Texts{zone.DefaultText: `<p>Café GmbH<script>alert(1)</script></p>`}
	files, err := page.Export(s)
	room.Must(t, err)
	const states, languages = 4, 22
	if len(files) != states*languages {
		t.Errorf("%d pages", len(files))
	}
	for name, file := range files {
		text := string(file)
		state, code, _ := strings.Cut(strings.TrimSuffix(name, ".html"), "-")
		for _, want := range []string{`<html lang="` + code + `"`, "Café &amp; Söhne", "#0a7d32", "Café GmbH", "default-src &#39;none&#39;"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %s", name, want)
			}
		}
		for _, never := range []string{"<script", "http-equiv=\"refresh\"", "At noon.", "src=\"http", "url("} {
			if strings.Contains(text, never) {
				t.Errorf("%s has %s", name, never)
			}
		}
		if other := files[map[string]string{"busy": "away", "away": "unsent", "unsent": "room", "room": "busy"}[state]+"-"+code+".html"]; text == string(other) {
			t.Errorf("%s is another state's, too", name)
		}
	}
}
