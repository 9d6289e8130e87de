package serve

import (
	"strings"
	"sync"

	"golang.org/x/text/language"

	"github.com/openqueue/waitingroom/internal/zone"
)

// matchers has one for each set of languages that an operator has used: to make one takes
// 100 us.
var matchers sync.Map

// TextFor returns the text for one who reads the languages of this Accept-Language, best
// first; the text for everybody where there is none in any of them; "" where there is none at all.
func TextFor(texts zone.Texts, accept string) string {
	codes := texts.Languages()
	wanted, _, err := language.ParseAcceptLanguage(accept)
	if len(codes) == 0 || err != nil || len(wanted) == 0 {
		return texts[zone.DefaultText]
	}
	if _, i, confidence := matcherOf(codes).Match(wanted...); i > 0 && confidence > language.No {
		return texts[codes[i-1]]
	}
	return texts[zone.DefaultText]
}

// matcherOf returns one that finds the index of the language that fits, plus one.
func matcherOf(codes []string) language.Matcher {
	key := strings.Join(codes, ",")
	known, _ := matchers.Load(key)
	if m, ok := known.(language.Matcher); ok {
		return m
	}
	// The first is taken where none fits, and this one fits nobody.
	tags := []language.Tag{language.MustParse("art-x-default")}
	for _, code := range codes {
		tag, err := language.Parse(code)
		if err != nil { // well formed, and no language
			tag = tags[0]
		}
		tags = append(tags, tag)
	}
	m := language.NewMatcher(tags)
	matchers.Store(key, m)
	return m
}
