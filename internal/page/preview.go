package page

import (
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Shown is a state that Preview can show.
type Shown struct {
	Key, Label string
	fill       func(*view)
}

// The figures of a preview.
const (
	previewPlace, previewThere = 1_234, 5_000
	previewLow, previewHigh    = 10 * time.Minute, 15 * time.Minute
	previewOpens               = 25 * time.Minute
	previewGone                = 40
)

// States returns what Preview can show, in the order in which a visitor may meet it.
func States() []Shown {
	refused := func(s state) func(*view) { return func(v *view) { v.State = s } }
	silent := func(name string) func(*view) {
		return func(v *view) {
			v.State, v.Text, v.settings.Message = exported[name].state, v.text(exported[name].text), nil
		}
	}
	return []Shown{
		{"line", "In line", (*view).lined},
		{"near", "Near the front", func(v *view) {
			v.lined()
			v.Place, v.Wait, v.Gone = v.number(3), v.duration(time.Minute), 99
			v.Data.Position, v.Data.Estimate = 3, time.Minute.Milliseconds()
		}},
		{"turn", "Your turn", func(v *view) {
			v.State, v.Text, v.Go = turn, v.text("turnText", "duration", v.duration(v.settings.PassTTL())), "#"
		}},
		{"announced", "Announced", func(v *view) {
			v.State = announced
			v.opens()
			v.Text = v.text("announcedText", "time", v.at(previewTime(previewOpens/2)))
		}},
		{"gathering", "Gathering before a draw", func(v *view) {
			v.State, v.Text, v.Seated, v.There = gathering, v.text("gatherDraw"), true, v.number(previewThere)
			v.opens()
		}},
		{"drawn", "Drawn", func(v *view) {
			v.lined()
			v.State, v.Text, v.Wait, v.Gone, v.There = drawn, v.text("settledText"), "", 0, v.number(previewThere)
			v.opens()
		}},
		{"paused", "Paused", func(v *view) {
			v.lined()
			v.State, v.Text, v.Wait = paused, "", v.text("long")
		}},
		{"fullInside", "Full inside", func(v *view) {
			v.lined()
			v.Text = v.texts.Reasons[line.FullInside.String()]
		}},
		{"soldOut", "Sold out", func(v *view) { v.State, v.Text = soldOut, serve.TextFor(v.settings.SoldOut, v.accept) }},
		{"closed", "Closed", refused(closed)},
		{"invited", "By invitation", refused("invited")},
		{"invitation", "Invited", func(v *view) { v.State, v.Accept = invitation, "#" }},
		{"proving", "Challenge", refused(proving)},
		{"tooLong", "Wait too long", refused("tooLong")},
		{"full", "Line full", refused("full")},
		{"away", "Store away, or the waiting page at the gateway", silent("room")},
		{"busy", "Gateway: server slow", silent("busy")},
		{"siteAway", "Gateway: no server", silent("away")},
		{"unsent", "Gateway: form not sent", silent("unsent")},
	}
}

// lined has the page of a visitor far back.
func (v *view) lined() {
	v.State, v.Seated, v.Gone, v.Place = inLine, true, previewGone, v.number(previewPlace)
	v.Wait = v.ranged(rounded{previewLow.Minutes(), previewHigh.Minutes(), time.Minute})
	v.Reference = v.text("reference", "id", line.ID{}.PlaceID())
}

// opens has an event that opens soon.
func (v *view) opens() {
	v.Opens, v.When = v.duration(previewOpens), v.text("opensAt", "time", v.at(previewTime(previewOpens)))
}

// previewTime is a full minute that is about that far away.
func previewTime(in time.Duration) time.Time { return time.Now().UTC().Add(in).Truncate(time.Minute) }

// Preview shows an operator how the page looks with these settings, in a frame of the console: in the state, the language and the
// colours (light or dark) of the form's previewState, previewLanguage and previewScheme. With previewAll it is a page with all states, and without a state it shows sold out where the zone is, and else the line.
// A preview has no script, and nothing on it can be used. Only the console has it, so no public address shows a state that is not true.
func (h *HTTP) Preview(w http.ResponseWriter, r *http.Request, settings zone.Settings) error {
	all := States()
	if r.PostForm.Has("previewAll") {
		return h.sheet(w, r, settings, all)
	}
	shown, key := all[0], r.PostForm.Get("previewState")
	if key == "" && len(settings.SoldOut) > 0 {
		key = string(soldOut) // what visitors see now
	}
	for _, one := range all {
		if one.Key == key {
			shown = one
		}
	}
	v := h.preview(w.Header(), r, settings, shown, "frame-ancestors 'self'")
	w.Header().Set("X-Frame-Options", "SAMEORIGIN")
	return h.page.Execute(w, v)
}

// preview returns one page, and sets the headers for it. may is the rest of the policy.
func (h *HTTP) preview(header http.Header, r *http.Request, settings zone.Settings, shown Shown, may string) *view {
	accept := accepted(r)
	v := &view{locale: h.locales.choose(accept), settings: settings, accept: accept}
	shown.fill(v)
	v.finish(accept)
	v.prepare(header, "", "sandbox; "+may)
	v.CSS = inScheme(v.CSS, r.PostForm.Get("previewScheme"))
	return v
}

// inScheme is a style as a browser has it that prefers light or dark colours; with another scheme, it is as the browser says.
func inScheme(css template.CSS, scheme string) template.CSS {
	other, known := map[string]string{"light": "dark", "dark": "light"}[scheme]
	if !known {
		return css
	}
	return template.CSS(strings.NewReplacer(
		"(prefers-color-scheme: "+scheme+")", "all", "(prefers-color-scheme: "+other+")", "not all", "color-scheme: light dark", "color-scheme: "+scheme,
	).Replace(string(css)))
}

// sheetPage is a page with all states, each in a frame.
var sheetPage = template.Must(template.New("sheet").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>All states of {{.Zone}}</title>
<style nonce="{{.Nonce}}">
body { margin: 1rem; font: 1rem/1.5 system-ui, sans-serif; color-scheme: light; background: #fff; color: #16191f; }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(23rem, 100%), 1fr)); gap: 1rem; }
figure { margin: 0; }
figcaption { font-weight: 600; }
iframe { width: 100%; height: 54rem; border: 1px solid #868e9b; border-radius: .5rem; }
</style>
</head>
<body>
<h1>All states of {{.Zone}}</h1>
<main>{{range .Pages}}
<figure><figcaption>{{.Label}}</figcaption><iframe title="{{.Label}}" srcdoc="{{.Page}}"></iframe></figure>{{end}}
</main>
</body>
</html>
`))

// sheet sends sheetPage.
func (h *HTTP) sheet(w http.ResponseWriter, r *http.Request, settings zone.Settings, all []Shown) error {
	type framed struct{ Label, Page string }
	sheet := struct {
		Zone, Nonce string
		Pages       []framed
	}{Zone: settings.ZoneID}
	for _, one := range all {
		v := h.preview(w.Header(), r, settings, one, "frame-ancestors 'none'")
		if sheet.Nonce == "" {
			sheet.Nonce = v.Nonce
		}
		v.Nonce = sheet.Nonce // a frame without an address has the policy of the page around it
		var text strings.Builder
		if err := h.page.Execute(&text, v); err != nil {
			return err
		}
		sheet.Pages = append(sheet.Pages, framed{one.Label, text.String()})
	}
	policy := "default-src 'none'; style-src 'nonce-" + sheet.Nonce + "'; img-src data:" + images(settings) + "; base-uri 'none'; sandbox; frame-ancestors 'none'"
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Content-Language", "en")
	return sheetPage.Execute(w, sheet)
}
