package console

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/observed"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	waiting "github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/route"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

// loadPages returns the templates of the pages, each with the layout around it. They
// are part of the program: one that is wrong ends it at once.
func loadPages() map[string]*template.Template {
	layout := template.Must(template.New("layout").Funcs(template.FuncMap{
		"zonePath": zonePath,
		"at":       time.UnixMilli,
		"count":    count, "figure": newFigure,
		"machine": func(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") },
	}).ParseFS(files, "templates/layout.tmpl", "templates/part-*.tmpl"))
	all := map[string]*template.Template{}
	names, _ := fs.Glob(files, "templates/page-*.tmpl") // the pattern is well-formed
	for _, name := range names {
		short := strings.TrimSuffix(strings.TrimPrefix(path.Base(name), "page-"), ".tmpl")
		all[short] = template.Must(template.Must(layout.Clone()).ParseFS(files, name))
	}
	return all
}

// page is what the layout shows.
type page struct {
	Name, Title, Who string
	// Admin says that who looks may make tokens.
	Admin bool
	// LogOut says that a log out here ends the session: whom a proxy logs in logs out there.
	LogOut bool
	// NotKept is why what is in force is lost with this server; "" if it is not, and
	// for who is not logged in.
	NotKept string
	Body    any
}

// render answers with a page. It is made as a whole first: a page is there or
// it is not.
func (c *Console) render(w http.ResponseWriter, status int, name string, s session, title string, body any) error {
	var text bytes.Buffer
	p := page{Name: name, Title: title, Who: s.who, Admin: s.By.MayAll(route.Admin), LogOut: s.By.Proof != audit.Proxy, Body: body}
	if err := c.NotKept(); err != nil && s.who != "" {
		p.NotKept = err.Error()
	}
	if err := c.pages[name].ExecuteTemplate(&text, "layout", p); err != nil {
		return fmt.Errorf("console: page %s: %w", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // nobody is left to tell
	return nil
}

// figure is one figure of a page: its element is filled anew every second.
type figure struct {
	Key, Label, Value, Note string
	// HasNote keeps room for the line below the figure.
	HasNote bool
}

func newFigure(f frame, key, label string) figure {
	note, has := f.Texts[key+".note"]
	return figure{Key: key, Label: label, Value: f.Texts[key], Note: note, HasNote: has}
}

// zoneView is one zone's page.
type zoneView struct {
	shown
	Frame frame
	Zone  zone.Settings
	// Tab is the key of the tab that the page shows: one of zoneTabs.
	Tab string
	// Resume is the limit from before the pause; 0 unless paused.
	Resume int64
	// Page are the settings of the waiting page, SoldOut is that setting. Groups have all others, besides the limit and the
	// mode, which have buttons.
	Page    []field
	SoldOut field
	Groups  []group
	Hour    []hourRow
	// Events are those of the list, the next one first.
	Events []occasion
	// Networks are those that joined lately; set in their tab alone.
	Networks network.List
	// Observed is what the gate would have refused; set in its tab alone.
	Observed observed.List
	// Pilot is what the autopilot saw and did; set in its tab alone.
	Pilot pilotView
	// Ref is the reference of the visitor who is looked for, and Visitor what was found, or Fault why nothing was; set in their tab alone.
	Ref, Fault string
	Visitor    *operator.Visitor
}

// Line is what the suggestions make of the settings, for the command line.
func (v zoneView) Line() string { return v.Observed.Line(v.Zone.BypassPaths, v.Zone.BypassAgents) }

// shownNetworks is how many networks a zone's page shows.
const shownNetworks = 50

// zoneTab is a part of a zone's page, with the value of the query's tab.
type zoneTab struct{ Key, Label string }

// zoneTabs are the parts of a zone's page, in the order of their links. The first is what an operator needs in the first
// minute.
var zoneTabs = []zoneTab{{"", "Live"}, {"events", "Events"}, {"page", "Page"}, {"visitor", "Visitor"}, {"networks", "Networks"}, {"gate", "Gate"}, {"pilot", "Autopilot"}, {"settings", "Settings"}, {"record", "Record"}, {"report", "Report"}}

// States are those that the preview of the waiting page can show.
func (v zoneView) States() []waiting.Shown { return waiting.States() }

// Bots are the levels of protection that a button sets.
func (v zoneView) Bots() []string { return []string{"low", "medium", "high"} }

// Tabs returns zoneTabs.
func (v zoneView) Tabs() []zoneTab { return zoneTabs }

// Event is the event that is next or under way; nil for none.
func (v zoneView) Event() *occasion {
	if p := v.Zone.EventState.Now; p != nil {
		if i := slices.IndexFunc(v.Events, func(o occasion) bool { return o.Name == p.Event.Name }); i >= 0 && v.Events[i].Next != nil {
			return &v.Events[i]
		}
	}
	return nil
}

// Paused reports whether the limit is 0.
func (v zoneView) Paused() bool { return v.Zone.PerMinute == 0 }

// pageSettings are those of the waiting page, in the order of their form: first what is
// said while people wait.
var pageSettings = []string{
	"message", "messageSeverity", "messageNear", "pageTitle", "pageColor", "pageLogo", "sites",
	"pageLinks", "pageHeader", "pageAside", "pageFooter", "pageStyle", "pageSources",
}

// preview is POST /console/zones/{zoneId}/preview: the waiting page with the settings of
// the form, as far as they can be set, in the state, the language and the colours that it asks for: see waiting.Preview. It changes nothing.
func (c *Console) preview(w http.ResponseWriter, r *http.Request, _ session, current zone.Settings) error {
	proposed, _ := readSettings(zone.Table, r.PostForm, "", current)
	if language := r.PostForm.Get("previewLanguage"); language != "" {
		r.Header.Set("Accept-Language", language)
	}
	return c.Preview(w, r, proposed)
}

// zonePage is GET /console/zones/{zoneId}.
func (c *Console) zonePage(w http.ResponseWriter, r *http.Request, s session, current zone.Settings) error {
	tab := r.URL.Query().Get("tab")
	if !slices.ContainsFunc(zoneTabs, func(one zoneTab) bool { return one.Key == tab }) {
		return errNothing
	}
	v := zoneView{
		Frame: c.zoneFrame(current), Zone: current, Tab: tab, Page: make([]field, len(pageSettings)), Hour: hourOf(c.Watch.History(current.ZoneID)), Events: c.occasions(current),
	}
	var others []field
	for _, f := range fieldsOf(zone.Table, current)[firstFields:] {
		if i := slices.Index(pageSettings, f.Name); i >= 0 {
			v.Page[i] = f
		} else if f.Name == "soldOut" {
			v.SoldOut = f
		} else {
			others = append(others, f)
		}
	}
	v.Groups = grouped(others)
	if tab == "gate" {
		var err error
		if v.Observed, err = c.Zones.Observed(r.Context(), current.ZoneID); err != nil {
			return err
		}
	}
	if tab == "pilot" {
		is, err := c.Zones.Pilot(r.Context(), current.ZoneID)
		if err != nil {
			return err
		}
		v.Pilot = pilotView{is, c.clock(current.ZoneID)}
	}
	if v.Ref = r.URL.Query().Get("ref"); tab == "visitor" && v.Ref != "" {
		found, err := c.Zones.Visitor(r.Context(), current.ZoneID, v.Ref, "")
		if wrong, ok := errors.AsType[*serve.FieldError](err); ok {
			v.Fault = "The reference " + wrong.Reason + "."
		} else if err != nil {
			return err
		} else {
			v.Visitor = &found
		}
	}
	if tab == "networks" {
		var err error
		if v.Networks, err = c.Zones.Networks(r.Context(), current.ZoneID, shownNetworks); err != nil {
			return err
		}
	}
	var changes []zone.Change
	if v.shown, changes = c.shown(r, current); v.Paused() {
		v.Resume = resumeTo(current, changes)
	}
	return c.render(w, http.StatusOK, "zone", s, current.ZoneID, v)
}

// hourRow is the zone at the end of five minutes, in words: what the charts
// show, for those who do not see them.
type hourRow struct {
	At    time.Time
	Texts map[string]string
}

// hourStep is how far apart the rows are.
const hourStep = 5 * time.Minute

// hourOf picks the last sample of each five minutes, the newest first.
func hourOf(samples []watch.Sample) []hourRow {
	var rows []hourRow
	var slot int64 = -1
	for _, s := range slices.Backward(samples) {
		if at := s.At / hourStep.Milliseconds(); at != slot {
			slot = at
			as := zone.Settings{Mode: s.Mode, PerMinute: s.PerMinute, WindowSeconds: zone.DefaultWindowSeconds}
			t := texts(as, s, true)
			t["windowLimit"] = unknown
			if s.Known() {
				t["windowLimit"] = count(s.WindowLimit)
			}
			rows = append(rows, hourRow{time.UnixMilli(s.At), t})
		}
	}
	return rows
}

// zonesPage is GET /console/.
func (c *Console) zonesPage(w http.ResponseWriter, r *http.Request, s session) error {
	all, err := c.zonesRoll(r.Context())
	if err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "zones", s, "All zones", all)
}
