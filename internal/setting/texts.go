package setting

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Texts is one text in several languages, by their BCP 47 tags in any case: de, pt-BR. The one under
// DefaultText is for who reads none of the others, and is there if any is. Nil is the same as empty.
//
// In JSON and YAML it is an object, or a string, which is the text for everybody.
type Texts map[string]string

// DefaultText is in place of a tag.
const DefaultText = "default"

// MaxLanguages bounds how many texts there are, the default one included.
const MaxLanguages = 40

// language is a tag as far as it can be looked at without a list of all.
var language = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$`)

// TextsOf returns the text for everybody; none for "".
func TextsOf(text string) Texts {
	if text == "" {
		return Texts{}
	}
	return Texts{DefaultText: text}
}

// Languages are the tags that there are, sorted, without DefaultText.
func (t Texts) Languages() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t)), func(tag string) bool { return tag == DefaultText })
}

// String is the texts as UnmarshalText reads them.
func (t Texts) String() string {
	lines := make([]string, 0, len(t))
	if text, ok := t[DefaultText]; ok {
		if tag, _, _ := strings.Cut(text, ":"); len(t) > 1 && isTag(tag) {
			text = DefaultText + ": " + text
		}
		lines = append(lines, text)
	}
	for _, tag := range t.Languages() {
		lines = append(lines, tag+": "+t[tag])
	}
	return strings.Join(lines, "\n")
}

// UnmarshalText reads what a person typed: the text for everybody, and below it a line for
// each other language, which begins with its tag: "de: Gleich geht es weiter.".
func (t *Texts) UnmarshalText(text []byte) error {
	all := Texts{}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i, line := range lines {
		tag, said, tagged := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case len(lines) == 1, i == 0 && !isTag(tag):
			tag, said = DefaultText, line
		case !tagged || !isTag(tag):
			return fmt.Errorf("must begin line %d with a language, as in de: Text", i+1)
		}
		if _, twice := all[tag]; twice {
			return fmt.Errorf("must not have %s twice", tag)
		}
		all[tag] = strings.TrimSpace(said)
	}
	*t = all
	return nil
}

func isTag(tag string) bool { return tag == DefaultText || language.MatchString(tag) }

// MarshalJSON writes a string where there is one text for everybody, as all versions know it.
func (t Texts) MarshalJSON() ([]byte, error) {
	if text, ok := t[DefaultText]; len(t) == 0 || ok && len(t) == 1 {
		return json.Marshal(text)
	}
	return json.Marshal(map[string]string(t))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Texts) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*t = TextsOf(text)
		return nil
	}
	all := map[string]string{}
	err := json.Unmarshal(b, &all)
	*t = all
	return err
}

// Check is check, for texts within another value.
func (t Texts) Check(most int) error { return t.check(most) }

// check says what is wrong, in a sentence without its subject; nil for texts that may be, of at
// most so many bytes each.
func (t Texts) check(most int) error {
	_, some := t[DefaultText]
	switch {
	case len(t) == 0:
		return nil
	case !some:
		return errors.New("must have a text for " + DefaultText + ", for readers of all other languages")
	case len(t) > MaxLanguages:
		return fmt.Errorf("has %d texts, must have at most %d", len(t), MaxLanguages)
	}
	for _, tag := range slices.Sorted(maps.Keys(t)) {
		if !isTag(tag) {
			return fmt.Errorf("has a text for %q, which is no language such as de or pt-BR", tag)
		}
		err := CheckText(t[tag], most)
		if err == nil && strings.TrimSpace(t[tag]) == "" {
			err = errors.New("must not be empty")
		}
		if err != nil {
			return fmt.Errorf("for %s %w", tag, err)
		}
	}
	return nil
}
