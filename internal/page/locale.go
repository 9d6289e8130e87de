package page

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/serve"
)

//go:embed locales/*.yaml
var localeFiles embed.FS

// Forms are the plural forms of CLDR that a language has: zero, one, two, few, many and
// other; other is always there.
type Forms map[string]string

// Reasons are sentences that say why the estimated wait has changed, by the API's codes: see
// line.Reason. line.OnHold has none, since the page then shows the state paused.
type Reasons map[string]string

// Texts are all texts of the page in one language, by their keys in the files of locales. English has all keys that there
// are. A state's heading is under its own name, and its text under that name with Text behind.
type Texts struct {
	Said    map[string]string `yaml:",inline"`
	Minutes Forms             `yaml:"minutes"`
	Hours   Forms             `yaml:"hours"`
	Days    Forms             `yaml:"days"`
	Reasons Reasons           `yaml:"reasons"`
}

// locale is a language of the page.
type locale struct {
	// tag is the language, with the digits 0-9 even if the language has others.
	tag     language.Tag
	code    string // BCP 47, without the digits: for the lang attribute
	dir     string // ltr or rtl: the HTML attribute
	texts   Texts
	printer *message.Printer
}

// locales are all languages of the page. The first is used if none fits.
type locales struct {
	all     []*locale
	matcher language.Matcher
}

// fallbackCode is the language for a browser that names none of the page's languages.
const fallbackCode = "en"

// readLocales reads the files. They are part of the program, so an error is a mistake in the
// program.
func readLocales(files fs.FS) (*locales, error) {
	names, err := fs.Glob(files, "locales/*.yaml")
	if err != nil {
		return nil, err
	}
	var l locales
	for _, name := range names {
		one, err := readLocale(files, name)
		if err != nil {
			return nil, fmt.Errorf("page: %s: %w", name, err)
		}
		if one.code == fallbackCode {
			l.all = append([]*locale{one}, l.all...)
		} else {
			l.all = append(l.all, one)
		}
	}
	tags := make([]language.Tag, len(l.all))
	for i, one := range l.all {
		tags[i] = language.Make(one.code)
	}
	l.matcher = language.NewMatcher(tags)
	return &l, nil
}

func readLocale(files fs.FS, name string) (*locale, error) {
	code := strings.TrimSuffix(path.Base(name), ".yaml")
	tag, err := language.Parse(code + "-u-nu-latn")
	if err != nil {
		return nil, err
	}
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	one := &locale{tag: tag, code: code, dir: "ltr", printer: message.NewPrinter(tag)}
	if err := yaml.Unmarshal(text, &one.texts); err != nil {
		return nil, err
	}
	if script, _ := tag.Script(); script.String() == "Arab" || script.String() == "Hebr" {
		one.dir = "rtl"
	}
	return one, nil
}

// choose returns the language that best fits what a browser says in Accept-Language.
func (l *locales) choose(accept string) *locale {
	_, i, _ := l.matcher.Match(serve.Accepted(accept)...)
	return l.all[i]
}

// text is a text with values in its places: see fill.
func (l *locale) text(key string, values ...string) string { return fill(l.texts.Said[key], values...) }

// number writes a number as the language does.
func (l *locale) number(n float64) string { return l.printer.Sprint(number.Decimal(n)) }

// at writes a time in the zone that t has. The script then writes it anew, in the visitor's own
// time zone and language.
func (l *locale) at(t time.Time) string { return t.Format("2006-01-02 15:04 (UTC-07:00)") }

// formNames are CLDR's names of the plural forms.
var formNames = map[plural.Form]string{
	plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many", plural.Other: "other",
}

// count writes a number with its noun, as "5 minutes" or "1.5 hours".
func (l *locale) count(forms Forms, n float64) string {
	return fill(l.form(forms, n), "n", l.number(n))
}

// form returns the plural form that a number takes. n has at most one decimal.
func (l *locale) form(forms Forms, n float64) string {
	const million = 1_000_000
	whole, digits, tenths := int64(n), 0, int(10*n)%10
	if tenths > 0 {
		digits = 1
	}
	if text, ok := forms[formNames[plural.Cardinal.MatchPlural(l.tag, int(whole%million), digits, digits, tenths, tenths)]]; ok {
		return text
	}
	return forms["other"]
}

const day = 24 * time.Hour

// duration writes a length of time: whole minutes, rounded up; from 90 minutes on whole hours,
// and from two days on whole days, both rounded.
func (l *locale) duration(d time.Duration) string {
	const hoursFrom, daysFrom = 90 * time.Minute, 2 * day
	switch {
	case d < time.Minute:
		return l.text("soon")
	case d < hoursFrom:
		return l.count(l.texts.Minutes, float64((d+time.Minute-1)/time.Minute))
	case d < daysFrom:
		return l.count(l.texts.Hours, float64((d+time.Hour/2)/time.Hour))
	default:
		return l.count(l.texts.Days, float64((d+day/2)/day))
	}
}

// fill puts values into the places of a text. values are pairs: "n", "5" replaces each {n} by 5.
func fill(text string, values ...string) string {
	for i := 0; i+1 < len(values); i += 2 {
		text = strings.ReplaceAll(text, "{"+values[i]+"}", values[i+1])
	}
	return text
}
