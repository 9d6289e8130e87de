package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/setting"
)

// editor shows and changes one kind of thing, zones or policies: what they differ in.
// The way of a change is the same for both.
type editor[T any] struct {
	*Console
	// noun is "zone", parameter its name's in the routes.
	noun, parameter string
	// folder is where its pages are, below root; home where one goes when it is
	// deleted.
	folder, home string
	// table is what can be set.
	table setting.Table[T]
	// blank is what a new one is compared with.
	blank func(name string) T

	get     func(ctx context.Context, name string) (T, error)
	replace func(ctx context.Context, was, now T, by string) error
	remove  func(ctx context.Context, name, by string, only serve.Condition) error
	// version names what one of them is set to.
	version func(T) string
	changes func(ctx context.Context, name string, most int) ([]entryOf[T], error)
	// overtaken is replace's error when somebody was faster, mostChanges how many
	// are kept.
	overtaken   error
	mostChanges int

	// propose reads what is wanted, effects says what it will do, and loss what a deletion will; the first of
	// that is a warning.
	propose func(r *http.Request, current T) (next T, faults []string)
	effects func(was, now T) change.Says
	loss    func(current T) change.Says
	// expand puts what differs within a setting in place of it, for who reads; nil for none.
	expand func(was, now T, all []change.Difference) []change.Difference
}

// entryOf is an entry of a record.
type entryOf[T any] struct {
	AtMillis int64  `json:"at"`
	Name     string `json:"name"`
	By       string `json:"by"`
	// Was is nil if this made it, Now if it deleted it.
	Was *T `json:"was"`
	Now *T `json:"now"`
}

// of has h answer for the one that the route names, as the store has it.
func (e *editor[T]) of(h func(w http.ResponseWriter, r *http.Request, s session, current T) error) handler {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		current, err := e.get(r.Context(), r.PathValue(e.parameter))
		if err != nil {
			return err
		}
		return h(w, r, s, current)
	}
}

// path is where the pages of one of them are.
func (e *editor[T]) path(name string) string { return pathIn(e.folder)(name) }

// shown is what the pages of one zone and of one policy have in common.
type shown struct {
	Entries []entry
	// Done is the change that was made just now, nil if none was.
	Done *entry
}

// shown also returns the record. Without it the page has its figures and controls all
// the same.
func (e *editor[T]) shown(r *http.Request, name string, current T) (shown, []entryOf[T]) {
	changes, err := e.changes(r.Context(), name, e.mostChanges)
	if err != nil {
		e.Logger.WarnContext(r.Context(), "record of changes not read", e.noun, name, "error", err)
	}
	v := shown{Entries: e.entries(changes[:min(len(changes), shownChanges)], &current)}
	if done, found := findChange(changes, r.URL.Query().Get("done")); found {
		v.Done = &e.entries([]entryOf[T]{done}, &current)[0]
	}
	return v, changes
}

// confirmView is the page, or the dialog, that says what a change will do and
// asks.
type confirmView struct {
	// Path is where one goes without, Action where the form goes.
	Path, Action, Title string
	Effects             change.Says
	// Shown are the differences, as who reads them sees them.
	Shown []change.Difference
	// Hidden are the fields of the form: what is done, and what was seen.
	Hidden []pair
	// Button does it.
	Button string
	// Faults are what cannot be done as asked; then there is no button.
	Faults []string
}

// pair is a hidden field of a form.
type pair struct{ Name, Value string }

// changePage is GET .../change, and POST .../ask for what is too long for a query: what
// the settings would do, and a form that does it. It changes nothing.
func (e *editor[T]) changePage(w http.ResponseWriter, r *http.Request, s session, current T) error {
	next, faults := e.propose(r, current)
	return e.confirm(w, r, s, current, next, faults)
}

// confirm is the page that says what a change will do, and asks; or what is wrong with it.
func (e *editor[T]) confirm(w http.ResponseWriter, r *http.Request, s session, current, next T, faults []string) error {
	name := r.PathValue(e.parameter)
	v := confirmView{Path: e.path(name), Action: e.path(name) + "/change", Faults: faults}
	status := http.StatusOK
	switch all := change.Differences(e.table, current, next); {
	case len(faults) > 0:
		v.Title, status = "This cannot be set", http.StatusUnprocessableEntity
	case len(all) == 0:
		v.Title = "Nothing to change"
		v.Effects = change.Says{{Text: "All of this is set already."}}
	default:
		v.Title, v.Button = titleOf(name, all), "Change it"
		v.Effects = e.effects(current, next)
		v.Shown = e.shownOf(current, next, all)
		for _, d := range all {
			v.Hidden = append(v.Hidden, pair{wasPrefix + d.Name, d.WasText}, pair{d.Name, d.NowText})
		}
	}
	return e.render(w, status, "confirm", s, v.Title, v)
}

// shortText is how long a value may be, in bytes, to stand in a title.
const shortText = 40

// titleOf asks for a change.
func titleOf(name string, all []change.Difference) string {
	switch d := all[0]; {
	case len(all) > 1:
		return fmt.Sprintf("Change %d settings of %s?", len(all), name)
	case d.Worded, len(d.Now) > shortText: // it stands below
		return fmt.Sprintf("Change the %s of %s?", strings.ToLower(d.Label), name)
	default:
		return fmt.Sprintf("Set %s of %s to %s?", strings.ToLower(d.Label), name, d.Now)
	}
}

// conflictView is the page after a change that was not made, since somebody
// else was faster.
type conflictView struct {
	Path, Name string
	By         string
	At         time.Time
	Others     []change.Difference
}

// change is POST .../change: sets what was confirmed, if it still is what it was
// when it was confirmed.
func (e *editor[T]) change(w http.ResponseWriter, r *http.Request, s session, current T) error {
	was, faults := readSettings(e.table, r.PostForm, wasPrefix, current)
	now, more := readSettings(e.table, r.PostForm, "", was)
	if faults = append(faults, more...); len(faults) > 0 {
		return e.confirm(w, r, s, current, current, faults)
	}
	return e.apply(w, r, s, current, was, now)
}

// wasPrefix marks the fields of a confirmed change that say what it was shown
// to change from.
const wasPrefix = "was."

// undo is POST .../undo: puts back what a change of the record took away, unless
// others have changed the same since.
func (e *editor[T]) undo(w http.ResponseWriter, r *http.Request, s session, current T) error {
	changes, err := e.changes(r.Context(), r.PathValue(e.parameter), e.mostChanges)
	if err != nil {
		return err
	}
	ch, found := findChange(sinceMade(changes), r.PostForm.Get("change"))
	if !found {
		return errNothing
	}
	return e.apply(w, r, s, current, *ch.Now, *ch.Was)
}

// apply makes the change from was to now on top of current and shows the page
// with what was done; or shows who was faster.
func (e *editor[T]) apply(w http.ResponseWriter, r *http.Request, s session, current, was, now T) error {
	next, others := merge(e.settable(), current, was, now)
	if len(others) > 0 {
		return e.conflict(w, r, s, others)
	}
	name := r.PathValue(e.parameter)
	switch err := e.replace(r.Context(), current, next, s.who); {
	case errors.Is(err, e.overtaken):
		return e.conflict(w, r, s, nil)
	case err != nil:
		return err
	}
	return e.done(w, r, e.path(name), name, next)
}

// conflict shows who was faster with these settings; nil for one that is not known.
func (e *editor[T]) conflict(w http.ResponseWriter, r *http.Request, s session, others []change.Difference) error {
	name := r.PathValue(e.parameter)
	v := conflictView{Path: e.path(name), Name: name, Others: others, By: "Somebody"}
	if changes, err := e.changes(r.Context(), name, e.mostChanges); err == nil {
		v.By, v.At = e.whoChanged(changes, others)
	}
	return e.render(w, http.StatusConflict, "conflict", s, "Not changed", v)
}

// done leads to a page after a change. The address names the change, for the page to say what was
// done and to offer its undoing. Without the record the page says nothing.
func (e *editor[T]) done(w http.ResponseWriter, r *http.Request, path, name string, now T) error {
	changes, err := e.changes(r.Context(), name, recentChanges)
	if err == nil && len(changes) > 0 && changes[0].Now != nil && e.same(*changes[0].Now, now) {
		path += "?done=" + changeID(changes[0])
	}
	http.Redirect(w, r, path, http.StatusSeeOther)
	return nil
}

// settable are the settings that are not the servers' own.
func (e *editor[T]) settable() setting.Table[T] {
	return slices.DeleteFunc(slices.Clone(e.table), func(x setting.Setting[T]) bool { return x.Own })
}

// shownOf are differences as who reads them sees them.
func (e *editor[T]) shownOf(was, now T, all []change.Difference) []change.Difference {
	if e.expand == nil {
		return all
	}
	return e.expand(was, now, all)
}

func (e *editor[T]) same(a, b T) bool { return len(e.table.Differences(a, b)) == 0 }

// deleteView is the page that asks for the name.
type deleteView struct {
	Path, Name, Noun string
	// Seen is the version that is to be deleted.
	Seen  string
	Loss  change.Says
	Fault string
}

// deletePage is GET .../delete.
func (e *editor[T]) deletePage(w http.ResponseWriter, r *http.Request, s session, current T) error {
	return e.askForDelete(w, r, s, current, http.StatusOK, "")
}

func (e *editor[T]) askForDelete(w http.ResponseWriter, r *http.Request, s session, current T, status int, fault string) error {
	name := r.PathValue(e.parameter)
	v := deleteView{Path: e.path(name), Name: name, Noun: e.noun, Seen: e.version(current), Loss: e.loss(current), Fault: fault}
	return e.render(w, status, "delete", s, "Delete "+name+"?", v)
}

// deleteIt is POST .../delete: deletes it if its name was typed, and it still is what it was
// when the name was asked for.
func (e *editor[T]) deleteIt(w http.ResponseWriter, r *http.Request, s session, current T) error {
	name := r.PathValue(e.parameter)
	if strings.TrimSpace(r.PostForm.Get("confirm")) != name {
		fault := fmt.Sprintf("That is not the %s's name. Nothing was deleted.", e.noun)
		return e.askForDelete(w, r, s, current, http.StatusUnprocessableEntity, fault)
	}
	err := e.remove(r.Context(), name, s.who, serve.Condition{IfMatch: r.PostForm.Get("seen")})
	if errors.Is(err, operator.ErrPrecondition) || errors.Is(err, e.overtaken) {
		if _, err = e.get(r.Context(), name); err == nil {
			return e.conflict(w, r, s, nil)
		}
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, e.home+"?deleted="+url.QueryEscape(name), http.StatusSeeOther)
	return nil
}

// deleted is the entry of the one that was deleted just now, if the query says so
// and the record, too.
func (e *editor[T]) deleted(r *http.Request) *entry {
	name := r.URL.Query().Get("deleted")
	if name == "" {
		return nil
	}
	changes, err := e.changes(r.Context(), name, recentChanges)
	if err != nil || len(changes) == 0 || changes[0].Now != nil {
		return nil
	}
	return &e.entries(changes[:1], nil)[0]
}
