package page

import (
	"bytes"
	"fmt"
	"html/template"

	"github.com/openqueue/waitingroom/internal/zone"
)

// exported are the pages that a gateway shows by itself while the room does not answer. Of each, a state has the heading, and a key
// of Texts the text.
var exported = map[string]struct {
	state state
	text  string
}{
	// room: the waiting page itself is away.
	"room": {away, "awayText"},
	// busy: the gate is slow, or about to stop.
	"busy": {busy, "fullText"},
	// away: no server runs.
	"away": {siteAway, "fullText"},
	// unsent: a form, which a browser would not send again by itself.
	"unsent": {siteAway, "unsent"},
}

// Export returns the pages that a gateway in front of the room shows by itself while the room does not answer, by file name: such as
// busy-de.html. They have the zone's name, logo, colours, links and slots, and its message not, which is over before they are exported
// anew. They need no script, and nothing else, and their policy forbids everything else. The gateway says by a header when a browser
// loads the address again.
func Export(s zone.Settings) (map[string][]byte, error) {
	l, t, err := parts()
	if err != nil {
		return nil, err
	}
	s.Message, s.MessageNear = nil, nil
	files := map[string][]byte{}
	for name, page := range exported {
		for _, one := range l.all {
			v := &view{locale: one, settings: s, State: page.state, Text: one.text(page.text)}
			v.finish(one.code)
			v.Look.paint(s, one.code)
			v.Nonce, v.CSS = "page", v.Look.style()
			v.Policy = "default-src 'none'; style-src 'nonce-" + v.Nonce + "'; img-src data:" + images(s) + "; base-uri 'none'; form-action 'none'"
			var file bytes.Buffer
			if err := t.Execute(&file, v); err != nil {
				return nil, fmt.Errorf("page: %w", err)
			}
			files[name+"-"+one.code+".html"] = file.Bytes()
		}
	}
	return files, nil
}

// parts reads what the program has of the page.
func parts() (*locales, *template.Template, error) {
	l, err := readLocales(localeFiles)
	if err != nil {
		return nil, nil, err
	}
	t, err := template.New("page").Funcs(template.FuncMap{"linked": linked}).Option("missingkey=error").Parse(pageHTML)
	if err != nil {
		return nil, nil, fmt.Errorf("page: %w", err)
	}
	return l, t, nil
}
