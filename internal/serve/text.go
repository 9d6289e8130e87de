package serve

import (
	"strings"
	"sync"

	"golang.org/x/text/language"

	"github.com/openqueue/waitingroom/internal/zone"
)

// matchers keeps a language.Matcher for each set of languages that an operator has used, since
// it takes 100 us to make one.
var matchers sync.Map

// maxAccept is how much of an Accept-Language is read, in bytes: those of browsers have some 40. One of 32 KB takes milliseconds.
const maxAccept = 512

// Accepted returns the languages that an Accept-Language asks for, the best first; none if it cannot be read.
func Accepted(accept string) []language.Tag {
	if len(accept) > maxAccept {
		accept = accept[:max(0, strings.LastIndexByte(accept[:maxAccept], ','))]
	}
	wanted, _, err := language.ParseAcceptLanguage(accept)
	if err != nil {
		return nil
	}
	return wanted
}

// TextFor returns the text in the language that best fits this Accept-Language. If none fits, it
// returns the text for everybody, or "" if there is none.
func TextFor(texts zone.Texts, accept string) string {
	codes := texts.Languages()
	wanted := Accepted(accept)
	if len(codes) == 0 || len(wanted) == 0 {
		return texts[zone.DefaultText]
	}
	if _, i, confidence := matcherOf(codes).Match(wanted...); i > 0 && confidence > language.No {
		return texts[codes[i-1]]
	}
	return texts[zone.DefaultText]
}

// matcherOf returns a matcher that finds the index of the code that fits, plus one.
func matcherOf(codes []string) language.Matcher {
	key := strings.Join(codes, ",")
	known, _ := matchers.Load(key)
	if m, ok := known.(language.Matcher); ok {
		return m
	}
	// The matcher returns the first tag if none fits, and this one fits nobody.
	tags := []language.Tag{language.MustParse("art-x-default")}
	for _, code := range codes {
		tag, err := language.Parse(code)
		if err != nil { // the code is well formed, but no language has it
			tag = tags[0]
		}
		tags = append(tags, tag)
	}
	m := language.NewMatcher(tags)
	matchers.Store(key, m)
	return m
}
