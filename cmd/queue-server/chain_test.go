package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/serve/metric"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

// pollFrames are the functions of ours that are on the stack when a poll, sent to the room,
// reaches the embedded store's clock: package.Type.Method, the handler first.
func pollFrames(t *testing.T) []string {
	t.Helper()
	var frames []string
	log := slog.New(slog.DiscardHandler)
	metrics, err := metric.New(prometheus.NewRegistry(), metric.Options{})
	must(t, err)
	armed := false
	opened, err := embedded.Open(embedded.Options{Logger: log, Now: func() time.Time {
		if armed {
			frames, armed = ours(), false
		}
		return time.Now()
	}})
	must(t, err)
	defer func() { must(t, opened.Close()) }()
	settings := zone.Defaults("Z")
	settings.PerMinute = 0 // holds everybody
	_, err = opened.PutZone(t.Context(), settings, nil, "")
	must(t, err)
	s := checked{}
	s.Store = storeEmbedded
	c := newChain(s, opened, nil, nil, nil, metrics, log)
	c.start(t.Context())
	defer c.stop()
	visited, _ := c.first()

	secret := []byte("a secret of thirty-two bytes, or more")
	tokens, err := token.NewKeys(secret)
	must(t, err)
	passes, err := pass.NewSigner(pass.DefaultIssuer, secret)
	must(t, err)
	room := entry.NewHTTP(entry.New(visited, answer.NewIssuer(tokens, passes), metrics), nil)
	a, err := opened.Join(t.Context(), "Z", line.ID{1})
	must(t, err)
	armed = true
	body := `{"zoneId":"Z","token":"` + tokens.Sign("Z", a.Place) + `"}`
	w := httptest.NewRecorder()
	must(t, room.Poll(echo.New().NewContext(httptest.NewRequest(http.MethodPost, "/traffic/entry", strings.NewReader(body)), w)))
	if w.Code != http.StatusOK || len(frames) == 0 {
		t.Fatalf("the poll got %d and passed %q", w.Code, frames)
	}
	return frames
}

// ours returns the functions of this project on the stack, the outermost first, without
// closures and what only tests have.
func ours() []string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	closure := regexp.MustCompile(`(\.func\d+|\.\d+|\[\.\.\.\]|-fm)+$`)
	var names []string
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		name, is := strings.CutPrefix(f.Function, "github.com/openqueue/waitingroom/internal/")
		if !is {
			continue
		}
		name = name[strings.LastIndex(name, "/")+1:]
		name = closure.ReplaceAllString(strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(name), "")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	slices.Reverse(names)
	// A closure that is called from elsewhere stands for its function a second time.
	for i := 0; i < len(names); i++ {
		if slices.Contains(names[:i], names[i]) {
			names = slices.Delete(names, i, i+1)
			i--
		}
	}
	return names
}

// TestChainIsWhatAPollPasses holds three orders to the frames of a poll: that of the fields
// of chain, that of the links that docs/architecture.md draws, and that in which its story of a
// poll names functions.
func TestChainIsWhatAPollPasses(t *testing.T) {
	t.Parallel()
	frames := pollFrames(t)

	var passed []string
	for _, f := range frames {
		if pkg, _, _ := strings.Cut(f, "."); !slices.Contains(passed, pkg) {
			passed = append(passed, pkg)
		}
	}
	var links []string
	for field := range reflect.TypeFor[chain]().Fields() {
		links = append(links, field.Name)
	}
	if want := append(append([]string{"entry"}, links[:len(links)-1]...), "embedded"); !slices.Equal(passed, want) {
		t.Errorf("a poll passes %q; the fields of chain say %q", passed, want)
	}

	text, err := os.ReadFile("../../docs/architecture.md")
	must(t, err)
	_, drawing, _ := strings.Cut(string(text), "\nThe chain.")
	drawing, _, _ = strings.Cut(drawing, "```")
	var drawn []string
	for _, m := range regexp.MustCompile(`(?m)^(?:   )?([a-z]+) {6,}[a-zA-Z]`).FindAllStringSubmatch(drawing, -1) {
		drawn = append(drawn, m[1])
	}
	if !slices.Equal(drawn[:min(len(drawn), len(links))], links) {
		t.Errorf("docs/architecture.md draws %q, want %q", drawn, links)
	}

	_, story, _ := strings.Cut(string(text), "\n## The life of one poll\n")
	story, _, _ = strings.Cut(story, "\n## ")
	for _, f := range frames {
		_, rest, named := strings.Cut(story, "`"+f+"`")
		if !named {
			t.Errorf("a poll passes %q: docs/architecture.md, the life of one poll, does not name %s, or not in this order", frames, f)
			continue
		}
		story = rest
	}
}
