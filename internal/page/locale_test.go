package page

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/feature/plural"
)

func allLocales(t *testing.T) *locales {
	t.Helper()
	l, err := readLocales(localeFiles)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var placeholder = regexp.MustCompile(`\{\w+\}`)

// TestEveryLanguageIsWhole: each file has every text, with English's placeholders, and
// just the plural forms that its language has.
func TestEveryLanguageIsWhole(t *testing.T) {
	t.Parallel()
	l := allLocales(t)
	english := reflect.ValueOf(l.all[0].texts)
	for _, one := range l.all {
		texts := reflect.ValueOf(one.texts)
		for i := range texts.NumField() {
			name := texts.Type().Field(i).Name
			switch text := texts.Field(i).Interface().(type) {
			case string:
				want := placeholder.FindAllString(english.Field(i).String(), -1)
				got := placeholder.FindAllString(text, -1)
				slices.Sort(want)
				slices.Sort(got)
				if text == "" || !slices.Equal(got, want) {
					t.Errorf("%s: %s is %q, with %v, want %v", one.code, name, text, got, want)
				}
			case Forms:
				for _, n := range []int64{0, 1, 2, 3, 5, 11, 21, 100} {
					form := formNames[plural.Cardinal.MatchPlural(one.tag, int(n), 0, 0, 0, 0)]
					if text[form] == "" {
						t.Errorf("%s: %s has no form %q, which %d takes", one.code, name, form, n)
					}
				}
			}
		}
	}
	const least = 16
	if len(l.all) < least {
		t.Errorf("%d languages, want %d or more", len(l.all), least)
	}
}

// TestScriptSaysTheSame: the server and the script write each time to wait alike, in every
// language.
func TestScriptSaysTheSame(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is not installed: scripts/install-debian.sh nodejs, or run the tests with make test")
	}
	waits := []time.Duration{
		0, 59 * time.Second, time.Minute, time.Minute + 1e6, 2 * time.Minute, 3 * time.Minute, 11 * time.Minute, 21 * time.Minute, 89 * time.Minute,
		90 * time.Minute, 2 * time.Hour, 3 * time.Hour, 11 * time.Hour, 21*time.Hour + 29*time.Minute, 24 * time.Hour, 25 * time.Hour,
		47*time.Hour + 29*time.Minute, 2 * day, 60 * time.Hour, 11 * day, 21 * day, 100 * day,
	}
	places := []int64{1, 999, 1000, 12_345, 1_234_567}
	// The part of the script that formats, before it touches the page.
	begin, end := strings.Index(pageJS, "const plural"), strings.Index(pageJS, "function set(")
	if begin < 0 || end < begin {
		t.Fatal("page.js does not have its formatting between \"const plural\" and \"function set\"")
	}
	type asked struct {
		Lang   string   `json:"lang"`
		Texts  *Texts   `json:"texts"`
		Waits  []int64  `json:"waits"`
		Places []int64  `json:"places"`
		Want   []string `json:"-"`
	}
	var all []asked
	for _, one := range allLocales(t).all {
		a := asked{Lang: one.tag.String(), Texts: &one.texts, Places: places}
		for _, w := range waits {
			a.Waits = append(a.Waits, w.Milliseconds())
			a.Want = append(a.Want, one.wait(w), one.duration(w))
		}
		for _, p := range places {
			a.Want = append(a.Want, one.number(p))
		}
		all = append(all, a)
	}
	input, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "say.mjs")
	body := "import { readFileSync } from 'node:fs';\nconst SECOND = 1000;\nconst say = (data) => {\nconst texts = data.texts;\n" + pageJS[begin:end] +
		"\nreturn [...data.waits.flatMap((w) => [expected(w), duration(w)]), ...data.places.map((n) => number.format(n))];\n};\n" +
		"console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(say)));\n"
	if err := os.WriteFile(program, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, program)
	cmd.Stdin = strings.NewReader(string(input))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	var got [][]string
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for i, a := range all {
		for j := range got[i] {
			// Editions of CLDR differ in how wide the space between thousands is.
			got[i][j] = strings.ReplaceAll(got[i][j], "\u202f", "\u00a0")
		}
		if !slices.Equal(got[i], a.Want) {
			t.Errorf("%s: the script says\n%q, the server\n%q", a.Lang, got[i], a.Want)
		}
	}
}
