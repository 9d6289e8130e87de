package page

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"golang.org/x/text/feature/plural"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/refusal"
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
	keys := []string{"inLine", "turn", "paused", "away", "left", "announced", "gathering", "drawn", "ended"}
	for _, r := range refusal.All() {
		keys = append(keys, cmp.Or(r.Page.State, string(away)), cmp.Or(r.Page.Text, string(away)))
	}
	files, err := filepath.Glob("*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		like, read := map[string]string{".go": `\b[lv]\.text\("(\w+)"`, ".js": `\btexts\.(\w+)`, ".html": `\.Texts\.(\w+)`}[filepath.Ext(name)]
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
		if got := l.choose(tt.code).wait(low.Milliseconds(), low.Milliseconds(), high.Milliseconds()); got != tt.want {
			t.Errorf("%s: %s to %s is %q, want %q", tt.code, tt.low, tt.high, got, tt.want)
		}
	}
}
