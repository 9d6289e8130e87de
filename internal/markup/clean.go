package markup

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/openqueue/waitingroom/internal/zone"
)

// slots are the settings with HTML, by their names.
func slots(s *zone.Settings) map[string]*zone.Texts {
	return map[string]*zone.Texts{"pageHeader": &s.PageHeader, "pageAside": &s.PageAside, "pageFooter": &s.PageFooter}
}

// Clean returns the settings with clean HTML and CSS, and a sentence for each of them from which something was removed. To clean what is
// clean changes nothing.
func Clean(s zone.Settings) (zone.Settings, []string) {
	var said []string
	say := func(name string, removed []string) {
		if len(removed) > 0 {
			said = append(said, fmt.Sprintf("Removed from %s: %s.", name, strings.Join(removed, ", ")))
		}
	}
	all := slots(&s)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		texts := zone.Texts{}
		for _, tag := range slices.Sorted(maps.Keys(*all[name])) {
			clean, removed := cleanHTML((*all[name])[tag], s.PageSources, false)
			if say(name, removed); clean != "" {
				texts[tag] = clean
			}
		}
		if _, some := texts[zone.DefaultText]; !some {
			clear(texts)
		}
		*all[name] = texts
	}
	var removed []string
	if s.PageStyle != "" {
		s.PageStyle, removed = cleanCSS(s.PageStyle, s.PageSources, false)
		say("pageStyle", removed)
	}
	return s, said
}

// kept are the texts that were shown last, since a text is shown to each of a crowd. When there are mostKept of them, all are forgotten.
var kept = struct {
	sync.Mutex
	texts map[string]string
}{texts: map[string]string{}}

const mostKept = 500

func remembered(kind, text string, sources []string, clean func(string, []string, bool) (string, []string)) string {
	if text == "" {
		return ""
	}
	key := kind + strings.Join(sources, " ") + "\n" + text
	kept.Lock()
	defer kept.Unlock()
	if shown, ok := kept.texts[key]; ok {
		return shown
	}
	if len(kept.texts) >= mostKept {
		clear(kept.texts)
	}
	shown, _ := clean(text, sources, true)
	kept.texts[key] = shown
	return shown
}

// HTML returns what the page shows of a slot's text.
func HTML(text string, sources []string) string { return remembered("html", text, sources, cleanHTML) }

// CSS returns what the page shows of a stylesheet.
func CSS(text string, sources []string) string { return remembered("css", text, sources, cleanCSS) }
