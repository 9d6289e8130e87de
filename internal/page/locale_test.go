package page

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/feature/plural"

	"github.com/openqueue/waitingroom/clients/js"
	"github.com/openqueue/waitingroom/internal/line"
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
	english := l.all[0].texts.Said
	for _, one := range l.all {
		for _, name := range slices.Sorted(maps.Keys(one.texts.Said)) {
			if _, known := english[name]; !known {
				t.Errorf("%s: %s is no text of the page", one.code, name)
			}
		}
		for name, text := range english {
			want, got := placeholder.FindAllString(text, -1), placeholder.FindAllString(one.texts.Said[name], -1)
			slices.Sort(want)
			slices.Sort(got)
			if one.texts.Said[name] == "" || !slices.Equal(got, want) {
				t.Errorf("%s: %s is %q, with %v, want %v", one.code, name, one.texts.Said[name], got, want)
			}
		}
		n := 0
		for r := line.NoReason + 1; r.String() != ""; r++ {
			if r == line.OnHold {
				continue // a state
			}
			if n++; one.texts.Reasons[r.String()] == "" {
				t.Errorf("%s: no text says %s", one.code, r)
			}
		}
		if len(one.texts.Reasons) != n {
			t.Errorf("%s: %d reasons, the API has %d", one.code, len(one.texts.Reasons), n)
		}
		for name, forms := range map[string]Forms{"minutes": one.texts.Minutes, "hours": one.texts.Hours, "days": one.texts.Days} {
			for _, n := range []int64{0, 1, 2, 3, 5, 11, 21, 100} {
				form := formNames[plural.Cardinal.MatchPlural(one.tag, int(n), 0, 0, 0, 0)]
				if forms[form] == "" {
					t.Errorf("%s: %s has no form %q, which %d takes", one.code, name, form, n)
				}
			}
		}
	}
	const least = 16
	if len(l.all) < least {
		t.Errorf("%d languages, want %d or more", len(l.all), least)
	}
}

// TestEveryTextThatIsNamedIsThere: in Go, in the script and in the page; and each state has a heading.
func TestEveryTextThatIsNamedIsThere(t *testing.T) {
	t.Parallel()
	said := allLocales(t).all[0].texts.Said
	keys := []string{"inLine", "turn", "lost", "closed", "paused", "full", "away", "unknown", "left", "invited", "soldOut", "announced", "gathering", "drawn", "ended"}
	files, err := filepath.Glob("*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		like, read := map[string]string{".go": `l\.text\("(\w+)"`, ".js": `\btexts\.(\w+)`, ".html": `\.Texts\.(\w+)`}[filepath.Ext(name)]
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(like).FindAllStringSubmatch(string(text), -1) {
			if read && !slices.Contains([]string{"minutes", "hours", "days", "reasons"}, m[1]) {
				keys = append(keys, m[1])
			}
		}
	}
	for _, key := range keys {
		if said[key] == "" {
			t.Errorf("no text is named %s", key)
		}
	}
}

// TestScriptSaysTheSame: the server and the script write each length of a wait alike, in every
// language.
func TestScriptSaysTheSame(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: make e2e installs it, and runs this test, too")
	}
	waits := []time.Duration{
		0, 59 * time.Second, time.Minute, time.Minute + 1e6, 2 * time.Minute, 3 * time.Minute, 11 * time.Minute, 21 * time.Minute, 89 * time.Minute,
		90 * time.Minute, 2 * time.Hour, 3 * time.Hour, 11 * time.Hour, 21*time.Hour + 29*time.Minute, 24 * time.Hour, 25 * time.Hour,
		47*time.Hour + 29*time.Minute, 2 * day, 60 * time.Hour, 11 * day, 21 * day, 100 * day,
	}
	var ranges []interval
	for _, high := range waits {
		for _, share := range []float64{0, 0.3, 0.51, 0.7, 0.9, 1} {
			ranges = append(ranges, interval{int64(share * float64(high.Milliseconds())), high.Milliseconds()})
		}
	}
	for low := range int64(400) { // all figures up to ten hours, and what lies between them
		ranges = append(ranges, interval{low * 91_000, low*91_000 + 45_000}, interval{low * 59_999, low * 91_000})
	}
	places := []int64{1, 999, 1000, 12_345, 1_234_567}
	// The part of the script that formats, before it touches the page.
	begin, end := strings.Index(pageJS, "const plural"), strings.Index(pageJS, "function set(")
	if begin < 0 || end < begin {
		t.Fatal("page.js does not have its formatting between \"const plural\" and \"function set\"")
	}
	type asked struct {
		Lang   string     `json:"lang"`
		Texts  *Texts     `json:"texts"`
		Waits  []int64    `json:"waits"`
		Places []int64    `json:"places"`
		Ranges []interval `json:"ranges"`
		Want   []string   `json:"-"`
	}
	var all []asked
	for _, one := range allLocales(t).all {
		a := asked{Lang: one.tag.String(), Texts: &one.texts, Places: places, Ranges: ranges}
		for _, w := range waits {
			a.Waits = append(a.Waits, w.Milliseconds())
			a.Want = append(a.Want, one.wait(w.Milliseconds(), nil), one.duration(w))
		}
		for _, r := range ranges {
			a.Want = append(a.Want, one.wait(r.Low, &r))
		}
		for _, p := range places {
			a.Want = append(a.Want, one.number(float64(p)))
		}
		all = append(all, a)
	}
	input, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "say.mjs")
	body := "import { readFileSync } from 'node:fs';\n" + strings.ReplaceAll(js.Source, "export ", "") + "\nconst say = (data) => {\nconst texts = data.texts;\n" + pageJS[begin:end] +
		"\nreturn [...data.waits.flatMap((w) => [expected(w), duration(w)]), ...data.ranges.map((r) => expected(r.low, roundRange(r))), ...data.places.map((n) => number.format(n))];\n};\n" +
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

// TestARange: a range is rounded outward. Both ends have one unit, and longer waits have longer steps.
func TestARange(t *testing.T) {
	t.Parallel()
	l := allLocales(t)
	for _, tt := range []struct{ code, low, high, want string }{
		{"en", "4m", "6m", "4 to 6 minutes"},
		{"en", "4m40s", "5m20s", "4 to 6 minutes"},
		{"en", "4m56s", "5m5s", "about 5 minutes"},
		{"en", "20s", "60s", "less than a minute"},
		{"en", "20s", "90s", "about 1 minute"},
		{"en", "20s", "2m20s", "up to 3 minutes"},
		{"en", "9m30s", "17m", "9 to 20 minutes"},
		{"en", "12m", "89m", "10 to 90 minutes"},
		{"en", "65m", "91m", "1 to 1.5 hours"},
		{"en", "10m", "100m", "up to 2 hours"},
		{"en", "5h40m", "7h10m", "5.5 to 8 hours"},
		{"en", "20h", "24h", "about 20 hours"}, // a day is the most that is told, and so no end of a range
		{"en", "24h", "24h", "more than a day"},
		{"de", "65m", "91m", "1 bis 1,5 Stunden"},
		{"fr", "65m", "91m", "1 à 1,5 heure"},
		{"es", "20s", "90s", "alrededor de 1 minuto"},
		{"es", "20h", "22h", "de 20 a 22 horas"},
		{"ru", "4m", "6m", "от 4 до 6 мин"},
		{"ja", "4m", "6m", "4～6分"},
		{"ar", "4m", "6m", "من 4 إلى 6 دقائق"},
		{"ar", "65s", "2m", "من 1 إلى 2 دقيقة"},
		{"ar", "20s", "2m", "دقيقتان على الأكثر"},
		{"he", "62m", "2h", "1 עד 2 שעות"},
	} {
		low, err := time.ParseDuration(tt.low)
		if err != nil {
			t.Fatal(err)
		}
		high, err := time.ParseDuration(tt.high)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.choose(tt.code).wait(low.Milliseconds(), &interval{low.Milliseconds(), high.Milliseconds()}); got != tt.want {
			t.Errorf("%s: %s to %s is %q, want %q", tt.code, tt.low, tt.high, got, tt.want)
		}
	}
}
