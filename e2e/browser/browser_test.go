package browser

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/e2e/room"
)

// atOnce is how many tests run at a time, whatever the cores: they wait for polls most of the time.
const atOnce = "3"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}

// browser is a real Chromium without a window, at one page.
type browser struct {
	ctx context.Context
	// close ends the browser in good order, before the test does.
	close func()

	mu      sync.Mutex
	written []string // what the page wrote to its console
}

// act is one action of whoever sits at the browser.
type act = chromedp.Action[chromedp.Void]

// openBrowser starts Chromium, which ends with the test.
func openBrowser(t *testing.T, more ...chromedp.ExecAllocatorOption) *browser {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Fatal("chromium is not installed: scripts/install-debian.sh chromium, or run the tests with make test")
	}
	options := slices.Clone(chromedp.DefaultExecAllocatorOptions[:])
	// Tests may run as root, in a container: there is no sandbox for Chromium
	// there, and it sees this server's pages alone.
	options = append(options, chromedp.NoSandbox, chromedp.ExecPath("chromium"), chromedp.WindowSize(1280, 900),
		chromedp.WSURLReadTimeout(room.Patience))
	allocator, end := chromedp.NewExecAllocator(context.Background(), append(options, more...)...)
	ctx, cancel := chromedp.NewContext(allocator)
	b := &browser{ctx: ctx}
	messages := chromedp.Console(ctx)
	var reading sync.WaitGroup
	reading.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.written = append(b.written, fmt.Sprintf("%s %s (%s:%d)", m.Type, m.String(), m.URL, m.Line))
			b.mu.Unlock()
		}
	})
	b.close = sync.OnceFunc(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("close the browser: %v", err)
		}
		cancel()
		end()
		reading.Wait()
	})
	t.Cleanup(b.close)
	return b
}

// replaced is what the browser says of an element that it found on a page which
// another one replaced before anything was done to it.
const replaced = "Could not find node with given id"

// aborted is what it says of an address that it was to open when the page led elsewhere.
const aborted = "net::ERR_ABORTED"

// navigated reports whether the browser says that the page was left meanwhile, or that
// the next one is not there yet.
func navigated(err error) bool {
	return err != nil && slices.ContainsFunc([]string{
		"Inspected target navigated or closed", "Cannot find default execution context", "Execution context was destroyed",
		"Cannot find context with specified id",
	}, func(said string) bool { return strings.Contains(err.Error(), said) })
}

// do does steps, one after the other.
func (b *browser) do(t *testing.T, what string, steps ...act) {
	t.Helper()
	for i, s := range steps {
		ctx, cancel := context.WithTimeout(b.ctx, room.Patience)
		err := chromedp.Do(ctx, s)
		for err != nil && (strings.Contains(err.Error(), replaced) || strings.Contains(err.Error(), aborted)) && ctx.Err() == nil {
			err = chromedp.Do(ctx, s)
		}
		cancel()
		if err != nil {
			text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.innerText`))
			t.Fatalf("%s, step %d: %v; the page:\n%s", what, i+1, err, text)
		}
	}
}

// start opens the first page; it has no time limit, as that would be the
// browser's.
func (b *browser) start(t *testing.T, url string) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Navigate(url)); err != nil {
		t.Fatalf("start: %v", err)
	}
}

// value evaluates an expression in the page.
func value[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, room.Patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	for navigated(err) && ctx.Err() == nil {
		v, err = chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	}
	if err != nil {
		t.Fatalf("%.200s: %v", expression, err)
	}
	return v
}

// until waits for an expression to become true.
func (b *browser) until(t *testing.T, what, expression string) {
	t.Helper()
	deadline := time.Now().Add(room.Patience)
	for !value[bool](t, b, expression) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s; the page:\n%s", what, value[string](t, b, `document.body.innerText`))
		}
		<-time.After(20 * time.Millisecond)
	}
}

// text is what an element shows.
func (b *browser) text(t *testing.T, selector string) string {
	t.Helper()
	return value[string](t, b, fmt.Sprintf(`document.querySelector(%q)?.textContent.trim() ?? ""`, selector))
}

// look sets the width and the colours that the operator prefers.
func (b *browser) look(t *testing.T, width int64, scheme string) {
	t.Helper()
	b.do(t, "set the width", chromedp.EmulateViewport(width, 800))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		},
	})
	if err != nil {
		t.Fatalf("set the colours: %v", err)
	}
}

// errors returns what the page complained of, and forgets it.
func (b *browser) errors() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := slices.DeleteFunc(b.written, func(line string) bool {
		// The public listener has no pages, so no icon for them either.
		return strings.Contains(line, "/favicon.ico") || strings.HasPrefix(line, "log ") || strings.HasPrefix(line, "debug ") || strings.HasPrefix(line, "info ")
	})
	b.written = nil
	return all
}

// finding is a fault that axe has found.
type finding struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// axe is what checks a page for people who do not see, point or hear well.
var axe = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile("testdata/axe/axe.min.js")
	return string(text), err
})

// check has axe look at the page, in light and in dark, and wants it to find
// nothing, and the page to be no wider than a phone.
func (b *browser) check(t *testing.T, page string) {
	t.Helper()
	source, err := axe()
	if err != nil {
		t.Fatal(err)
	}
	if value[string](t, b, `typeof window.axe`) == "undefined" {
		b.do(t, "load axe", chromedp.Evaluate[chromedp.Void](source))
	}
	for _, scheme := range []string{"light", "dark"} {
		b.look(t, 1280, scheme)
		text := value[string](t, b, `axe.run().then((r) => JSON.stringify(r.violations))`)
		var found []finding
		if err := json.Unmarshal([]byte(text), &found); err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			for _, n := range f.Nodes {
				t.Errorf("%s, %s: %s (%s)\n%s\n%s", page, scheme, f.Help, f.ID, n.HTML, n.Summary)
			}
		}
	}
	b.look(t, 390, "light")
	if over := value[int](t, b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("%s: at 390 wide, %d pixels are out of sight", page, over)
	}
	b.look(t, 1280, "light")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
