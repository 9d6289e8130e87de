package console

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

// pages are the templates: the layout with each page's own content.
type pages struct {
	byName map[string]*template.Template
}

func loadPages(a *assets) (*pages, error) {
	layout, err := template.New("layout").Funcs(template.FuncMap{
		"asset": a.url, "zonePath": pathIn(zoneFolder), "limitPath": pathIn(limitFolder),
		"count": count, "figure": newFigure, "lower": strings.ToLower,
		"dry": func(z zone.Settings) string { return pathIn(zoneFolder)(z.ZoneID) + "/forecast" },
	}).ParseFS(files, "templates/layout.tmpl", "templates/part-*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("console: templates: %w", err)
	}
	p := &pages{byName: map[string]*template.Template{}}
	names, err := fs.Glob(files, "templates/page-*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("console: templates: %w", err)
	}
	for _, name := range names {
		t, err := layout.Clone()
		if err == nil {
			t, err = t.ParseFS(files, name)
		}
		if err != nil {
			return nil, fmt.Errorf("console: templates: %w", err)
		}
		short := strings.TrimSuffix(strings.TrimPrefix(path.Base(name), "page-"), ".tmpl")
		p.byName[short] = t
	}
	return p, nil
}

// pathIn makes paths of pages out of names.
func pathIn(folder string) func(name string) string {
	return func(name string) string { return root + folder + url.PathEscape(name) }
}

// page is what the layout shows.
type page struct {
	Name, Title, Who string
	// NotKept is why what is in force is lost with this server; "" if it is not, and
	// for who is not logged in.
	NotKept string
	Body    any
}

// render answers with a page. It is made as a whole first: a page is there or
// it is not.
func (c *Console) render(w http.ResponseWriter, r *http.Request, status int, name string, s session, title string, body any) {
	var text bytes.Buffer
	t, ok := c.pages.byName[name]
	if !ok {
		c.log.ErrorContext(r.Context(), "console page is missing", "page", name)
		http.Error(w, "There is no such page.", http.StatusInternalServerError)
		return
	}
	p := page{Name: name, Title: title, Who: s.who, Body: body}
	if err := c.notKept(); err != nil && s.who != "" {
		p.NotKept = err.Error()
	}
	if err := t.ExecuteTemplate(&text, "layout", p); err != nil {
		c.log.ErrorContext(r.Context(), "console page failed", "page", name, "error", err)
		http.Error(w, "This page could not be made. It has been logged.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // nobody is left to tell
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
	Zone  zone.Settings
	Frame frame
	// Resume is the limit from before the pause; 0 unless paused.
	Resume  int64
	Fields  []field
	Entries []entry
	// Done is the change that was made just now, nil if none was.
	Done *entry
	Hour []hourRow
}

// Paused reports whether the limit is 0.
func (v zoneView) Paused() bool { return v.Zone.PerMinute == 0 }

// Others are the settings besides limit and mode, which have buttons.
func (v zoneView) Others() []field { return v.Fields[firstFields:] }

// zonePage is GET /console/zones/{zoneId}.
func (c *Console) zonePage(w http.ResponseWriter, r *http.Request, s session) error {
	ctx := r.Context()
	current, err := c.zones.Get(ctx, r.PathValue("zoneId"))
	if err != nil {
		return err
	}
	// Without the record the page has its figures and controls all the same.
	changes, err := c.zoneDesk.changes(ctx, current.ZoneID, zone.MaxChanges)
	if err != nil {
		c.log.WarnContext(ctx, "record of changes not read", "zone", current.ZoneID, "error", err)
	}
	v := zoneView{
		Zone: current, Frame: c.frames.zone(current), Fields: fieldsOf(zone.Table, current),
		Hour: hourOf(c.watch.History(current.ZoneID)),
	}
	if v.Paused() {
		v.Resume = resumeTo(changes)
	}
	if done, found := findChange(changes, r.URL.Query().Get("done")); found {
		v.Done = &c.zoneDesk.entries([]change[zone.Settings]{done}, &current)[0]
	}
	v.Entries = c.zoneDesk.entries(changes[:min(len(changes), shownChanges)], &current)
	c.render(w, r, http.StatusOK, "zone", s, current.ZoneID, v)
	return nil
}

// hourRow is the zone at the end of five minutes, in words: what the charts
// show, for those who do not see them.
type hourRow struct {
	At    moment
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
			rows = append(rows, hourRow{millisToMoment(s.At), t})
		}
	}
	return rows
}

// zonesView is the first page: all zones.
type zonesView struct {
	Roll roll
	// Deleted is the zone that was deleted just now.
	Deleted *entry
}

// zonesPage is GET /console/.
func (c *Console) zonesPage(w http.ResponseWriter, r *http.Request, s session) error {
	ctx := r.Context()
	list, err := c.zones.List(ctx)
	if err != nil {
		return err
	}
	v := zonesView{Roll: c.frames.roll(list), Deleted: c.zoneDesk.deleted(r)}
	c.render(w, r, http.StatusOK, "zones", s, "All zones", v)
	return nil
}

// allChanges is how many changes the record of all shows.
const allChanges = 200

// changesPage is GET /console/changes: of zones and of policies.
func (c *Console) changesPage(w http.ResponseWriter, r *http.Request, s session) error {
	zones, err := c.zoneDesk.changes(r.Context(), "", allChanges)
	if err != nil {
		return err
	}
	policies, err := c.limitDesk.changes(r.Context(), "", allChanges)
	if err != nil {
		return err
	}
	all := append(c.zoneDesk.entries(zones, nil), c.limitDesk.entries(policies, nil)...)
	slices.SortStableFunc(all, func(a, b entry) int { return b.At.Compare(a.At.Time) })
	c.render(w, r, http.StatusOK, "changes", s, "Record of changes", all[:min(len(all), allChanges)])
	return nil
}
