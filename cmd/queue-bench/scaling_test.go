package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/deploy/terraform"
)

// The costs are found again in the page that they were written to.
func TestCostsIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := found().write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := costs{
		embeddedPoll: 30, serverPoll: 30, redisPoll: 6, embeddedJoin: 30, serverJoin: 30, redisJoin: 6,
		embeddedBytes: 60, redisBytes: 140,
	}
	if got := costsIn(string(text)); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestWriteScaling(t *testing.T) {
	t.Parallel()
	for _, measured := range []bool{true, false} {
		dir := t.TempDir()
		if measured {
			if err := found().write(dir); err != nil {
				t.Fatal(err)
			}
		}
		if err := (&scalingCommand{Docs: dir}).Run(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "scaling.md"))
		if err != nil {
			t.Fatal(err)
		}
		page := string(text)
		if strings.Contains(page, "not measured yet") == measured {
			t.Errorf("measured: %t, and the page says so: %t", measured, !measured)
		}
		if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") || strings.Contains(page, "<no value>") {
			t.Errorf("scaling.md has holes:\n%s", page)
		}
		// Half of a second over 30 us, and over 6 us, times 19.4.
		if want := "| a server's core, Redis store | 16,000 | 320,000 |"; measured && !strings.Contains(page, want) {
			t.Errorf("scaling.md has no %q", want)
		}
		if want := "| a Redis node = one zone | 83,000 | 1,600,000 |"; measured && !strings.Contains(page, want) {
			t.Errorf("scaling.md has no %q", want)
		}
	}
}

// The page that is kept is the one that the figures that are kept make.
func TestScalingIsFresh(t *testing.T) {
	t.Parallel()
	const docs = "../../docs"
	want, err := scalingPage(docs)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(docs, "scaling.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/scaling.md is not what docs/performance.md makes it: make scaling")
	}
}

// So are the examples' tables, and what their groups grow by.
func TestExamplesAreFresh(t *testing.T) {
	t.Parallel()
	const docs = "../../docs"
	measured, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for example := range cloudCrowds {
		dir := filepath.Join(docs, examplesDir, example)
		got, err := os.ReadFile(filepath.Join(dir, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := cloudReadme(docs, example)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s/README.md is not what docs/performance.md makes it: make scaling", dir)
		}
		s, _, err := readSetup(dir)
		if err != nil {
			t.Fatal(err)
		}
		m, err := terraform.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		target, diags := m.Of("module", "servers")[0].Body.Attributes["requests_target"].Expr.Value(nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got, _ := target.AsBigFloat().Int64(); int(got) != requestsTarget(costsIn(string(measured)), s.server) {
			t.Errorf("%s grows at %d requests a minute and server, should at %d", dir, got, requestsTarget(costsIn(string(measured)), s.server))
		}
	}
}
