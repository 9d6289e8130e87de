package browser

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/e2e/room"
)

const elementDir = "../../clients/js"

// TestFrameworks runs the examples of clients/js in React and in Vue, built as shops build them, under a strict policy: the element
// waits, has its place again after the framework removed and inserted it, and hands the pass over.
func TestFrameworks(t *testing.T) {
	t.Parallel()
	const place = `document.querySelector("waiting-room")?.shadowRoot.querySelector("[part=reference]").textContent`
	for framework, build := range map[string]func(t *testing.T, modules, app string){"react.jsx": buildReact, "vue.js": buildVue} {
		t.Run(framework, func(t *testing.T) {
			t.Parallel()
			tool := room.NPMTool(t, "FRAMEWORKS", "esbuild")
			modules, _, _ := strings.Cut(tool, "/@esbuild/")
			app := t.TempDir()
			must(t, os.MkdirAll(filepath.Join(app, "node_modules", "@openqueue"), 0o755))
			element, err := filepath.Abs(elementDir)
			must(t, err)
			must(t, os.Symlink(element, filepath.Join(app, "node_modules", "@openqueue", "waitingroom")))
			room.Write(t, filepath.Join(app, framework), room.Read(t, "testdata/framework/"+framework))
			build(t, modules, app)
			bundle := run(t, exec.Command(tool, filepath.Join(app, framework), "--bundle", "--format=esm", "--jsx=automatic", "--define:process.env.NODE_ENV=\"development\"",
				"--define:__VUE_OPTIONS_API__=true", "--define:__VUE_PROD_DEVTOOLS__=false", "--define:__VUE_PROD_HYDRATION_MISMATCH_DETAILS__=false"), modules, "")

			s := room.Start(t, map[string]string{"QUEUE_CONFIG": room.Config(t, "zones:\n  - {zoneId: SALE, perMinute: 0, windowSeconds: 1}\n")})
			b := openBrowser(t)
			b.start(t, ownShop(t, s, `<!doctype html><html lang="en"><title>Shop</title><link rel="icon" href="data:,"><script src="/note.js"></script>
<main></main><script type="module" src="/app.js"></script></html>`, map[string]string{"/app.js": bundle}))
			b.until(t, "a place", fmt.Sprintf(`/^Reference: [0-9A-Z]{14}$/.test(%s)`, place))
			first := value[string](t, b, place)
			b.do(t, "remove", chromedp.Evaluate[chromedp.Void](`show(false)`))
			b.until(t, "removed", `!document.querySelector("waiting-room")`)
			b.do(t, "insert", chromedp.Evaluate[chromedp.Void](`show(true)`))
			b.until(t, "the same place", fmt.Sprintf(`%s === %q`, place, first))
			if stats := s.Operate(t, "GET", "/admin/zones/SALE/stats", ""); stats.Value(t, "waiting") != 1.0 {
				t.Errorf("places in the line: %s", stats.Body)
			}
			s.Operate(t, "PATCH", "/admin/zones/SALE", `{"perMinute":6000}`)
			b.until(t, "the turn", `document.title === "In ey"`)
			if got := value[string](t, b, `refused.join()`); got != "" {
				t.Errorf("the policy refuses %s", got)
			}
			if complaints := b.errors(); len(complaints) > 0 {
				t.Errorf("the browser complains: %q", complaints)
			}
		})
	}
}

// TestElementBeforeItsModule sets attributes and properties of an element whose module is loaded later, as frameworks do.
func TestElementBeforeItsModule(t *testing.T) {
	t.Parallel()
	s := room.Start(t, map[string]string{"QUEUE_CONFIG": room.Config(t, "zones:\n  - {zoneId: A, perMinute: 0}\n  - {zoneId: B, perMinute: 0}\n")})
	b := openBrowser(t)
	b.start(t, ownShop(t, s, `<!doctype html><html lang="en"><title>Shop</title><link rel="icon" href="data:,"><script src="/note.js"></script>
<main></main><script src="/early.js"></script></html>`, map[string]string{"/early.js": `for (const zone of ["A", "B"]) {
	const line = document.createElement("waiting-room");
	if (zone === "A") line.texts = { paused: "Es ruht" };
	else line.setAttribute("texts", String({}));
	line.setAttribute("zone", zone);
	document.querySelector("main").append(line);
}
import("/js/element.js");`}))
	heading := func(want ...string) {
		t.Helper()
		b.until(t, strings.Join(want, ", "), fmt.Sprintf(
			`[...document.querySelectorAll("waiting-room")].map((e) => e.shadowRoot?.querySelector("[part=heading]").textContent).join() === %q`, strings.Join(want, ",")))
	}
	heading("Es ruht", "The line is paused")
	b.do(t, "other texts", chromedp.Evaluate[chromedp.Void](`document.querySelector("waiting-room").texts = { paused: "En pause" }`))
	heading("En pause", "The line is paused")
	b.do(t, "another zone", chromedp.Evaluate[chromedp.Void](`document.querySelector("waiting-room").setAttribute("zone", "NONE")`))
	heading("Your place is gone", "The line is paused")
	if complaints := b.errors(); len(complaints) > 1 { // the 404
		t.Errorf("the browser complains: %q", complaints)
	}
}

func buildReact(t *testing.T, _, app string) {
	t.Helper()
	room.Write(t, filepath.Join(app, "Line.jsx"), exampleIn(t, "jsx"))
}

func buildVue(t *testing.T, modules, app string) {
	t.Helper()
	room.Write(t, filepath.Join(app, "Line.vue.js"), run(t, exec.Command("node", "testdata/framework/sfc.cjs", modules), modules, exampleIn(t, "vue")))
}

// exampleIn returns the example in a language that the README of the client has.
func exampleIn(t *testing.T, language string) string {
	t.Helper()
	_, rest, found := strings.Cut(room.Read(t, elementDir+"/README.md"), "```"+language+"\n")
	code, _, ended := strings.Cut(rest, "```\n")
	if !found || !ended {
		t.Fatalf("the README has no example in %s", language)
	}
	return code
}

// run returns what a command writes, which finds packages in modules.
func run(t *testing.T, c *exec.Cmd, modules, input string) string {
	t.Helper()
	var complaints bytes.Buffer
	c.Env, c.Stdin, c.Stderr = append(os.Environ(), "NODE_PATH="+modules), strings.NewReader(input), &complaints
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", c.Path, err, complaints.String())
	}
	return string(out)
}
