package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/change"
)

// What a step does.
const (
	actionMake   = "make"
	actionChange = "change"
	actionDelete = "delete"
	// actionLeave: what differs is an operator's.
	actionLeave = "left alone"
)

// What became of a step.
const (
	resultPlanned = "planned"
	resultDone    = "done"
	resultFailed  = "failed"
	// resultSkipped: a step before it failed in a way that would fail it too.
	resultSkipped = "skipped"
)

// resource is a kind of things that a server has and a file names: zones, or policies.
type resource[T any] struct {
	// one and many name the kind to people.
	one, many string
	name      func(T) string
	// same reports whether both are set to the same.
	same func(a, b T) bool
	// adopt has what is wanted be what is there where a file says nothing of it, and says in sentences what of that is
	// not as the file says; may be nil.
	adopt func(want *T, is T) (left []string)
	// label gives a step what is for people and for JSON, beside Was and Now.
	label func(*step[T])
	all   func(context.Context) (adminclient.Reply[[]T], error)
	get   func(ctx context.Context, name string) (adminclient.Reply[T], error)
	// put makes a thing, or what differs of it another.
	put    func(context.Context, *step[T]) error
	remove func(ctx context.Context, name, version string) error
	// waiting is how many lose their places with one that is deleted.
	waiting func(ctx context.Context, name string) (int64, error)
}

// plan is what makes the things of a server those of a file. As JSON it is what apply
// --json prints.
type plan[T any] struct {
	Steps []*step[T] `json:"steps"`
	// Same are those that are already as the file says.
	Same []string `json:"same"`
	// Unlisted are those that the file does not have and that stay, for want of --prune.
	Unlisted []string `json:"unlisted"`
	// LeftAlone are those in which operators have changed what the file has otherwise.
	LeftAlone []string `json:"leftAlone,omitempty"`

	left []*step[T]
}

// step is what is done to one thing.
type step[T any] struct {
	// One of these is its name.
	ZoneID string `json:"zoneId,omitempty"`
	Policy string `json:"policy,omitempty"`
	Action string `json:"action"`
	// Settings are those of a zone that differ, or those of a new zone that are not
	// the default.
	Settings []change.Difference `json:"settings,omitzero"`
	// Was is null for what is new, Now for what is deleted.
	Was *T `json:"was"`
	Now *T `json:"now"`
	// Waiting is how many lose their places in a zone that is deleted.
	Waiting int64  `json:"waiting,omitempty"`
	Result  string `json:"result"`
	// Error says why a step failed.
	Error string `json:"error,omitempty"`

	name string
	// lines are the differences for people, left those that stay.
	lines, left []string
	// version names what Now was compared with.
	version string
}

// compare returns what makes the things of the server those that are wanted.
func (r resource[T]) compare(ctx context.Context, wanted []T, prune bool) (*plan[T], error) {
	reply, err := r.all(ctx)
	if err != nil {
		return nil, err
	}
	there := reply.Value
	p := &plan[T]{Steps: []*step[T]{}, Same: []string{}, Unlisted: []string{}}
	has := func(all []T, name string) bool {
		return slices.ContainsFunc(all, func(one T) bool { return r.name(one) == name })
	}
	for _, want := range wanted {
		name := r.name(want)
		s := &step[T]{name: name, Action: actionMake, Now: &want}
		if has(there, name) {
			if err := r.look(ctx, s, actionChange); err != nil {
				return nil, err
			}
			if r.adopt != nil {
				s.left = r.adopt(s.Now, *s.Was)
			}
			if s.left != nil {
				s.Action, p.LeftAlone = actionLeave, append(p.LeftAlone, name)
			}
			switch same := r.same(*s.Was, *s.Now); {
			case same && s.left == nil:
				p.Same = append(p.Same, name)
				continue
			case same:
				p.left = append(p.left, s)
				continue
			}
			s.Action = actionChange
		}
		p.Steps = append(p.Steps, s)
	}
	for _, one := range there {
		name := r.name(one)
		switch {
		case has(wanted, name):
		case !prune:
			p.Unlisted = append(p.Unlisted, name)
		default:
			s := &step[T]{name: name}
			if err := r.look(ctx, s, actionDelete); err != nil {
				return nil, err
			}
			p.Steps = append(p.Steps, s)
		}
	}
	for _, s := range slices.Concat(p.Steps, p.left) {
		s.Result = resultPlanned
		r.label(s)
	}
	return p, nil
}

// look asks for what is there, which the action is done to.
func (r resource[T]) look(ctx context.Context, s *step[T], action string) error {
	is, err := r.get(ctx, s.name)
	if err == nil && action == actionDelete {
		s.Waiting, err = r.waiting(ctx, s.name)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.one, s.name, err)
	}
	s.Action, s.Was, s.version = action, &is.Value, is.Version
	return nil
}

// carryOut does the steps, those that delete last, and returns all errors. A step that
// fails does not keep the others from being done, but a server that does not answer,
// or refuses the token, does. done is called after each that was done.
func (r resource[T]) carryOut(ctx context.Context, p *plan[T], done func(*step[T])) error {
	var all []error
	stop := false
	for _, s := range p.Steps {
		if stop {
			s.Result = resultSkipped
			continue
		}
		var err error
		if s.Action == actionDelete {
			err = r.remove(ctx, s.name, s.version)
		} else {
			err = r.put(ctx, s)
		}
		if err == nil {
			s.Result = resultDone
			done(s)
			continue
		}
		s.Result, s.Error = resultFailed, err.Error()
		all = append(all, fmt.Errorf("%s %s: %w", r.one, s.name, err))
		stop = ctx.Err() != nil || errors.Is(err, adminclient.ErrUnreachable) || errors.Is(err, adminclient.ErrUnauthorized)
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("%w\nThe command can be repeated: it does only what is left", errors.Join(all...))
}

// count returns how many steps are so.
func (p *plan[T]) count(is func(*step[T]) bool) (n int) {
	for _, s := range p.Steps {
		if is(s) {
			n++
		}
	}
	return n
}

// summary counts what is to be done.
func (p *plan[T]) summary() string {
	of := func(action string) int { return p.count(func(s *step[T]) bool { return s.Action == action }) }
	text := fmt.Sprintf("%d to make, %d to change, %d to delete; %d as the file says already",
		of(actionMake), of(actionChange), of(actionDelete), len(p.Same))
	if n := len(p.Unlisted); n > 0 {
		text += fmt.Sprintf("; %d not in the file, left alone (--prune deletes them)", n)
	}
	if n := len(p.LeftAlone); n > 0 {
		text += fmt.Sprintf("; %d changed by an operator during an event, and left so", n)
	}
	return text + "."
}
