package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/change"
)

// What is done to a thing.
const (
	actionMake   = "make"
	actionChange = "change"
	actionDelete = "delete"
	// actionSame: it is as the file says already.
	actionSame = "same"
	// actionUnlisted: the file does not have it, and it stays, for want of --prune.
	actionUnlisted = "unlisted"
	// actionLeave: what differs is an operator's.
	actionLeave = "left alone"
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
	// label gives a step that makes or changes something the differences.
	label func(*step[T])
	// lose says what is lost with a thing that is deleted.
	lose func(context.Context, *step[T]) (change.Says, error)
	all  func(context.Context) (adminclient.Reply[[]T], error)
	get  func(ctx context.Context, name string) (adminclient.Reply[T], error)
	// put makes a thing, or what differs of it another.
	put    func(context.Context, *step[T]) error
	remove func(ctx context.Context, name, version string) error
}

// plan is what makes the things of a server those of a file: a step for each thing that either has.
type plan[T any] []*step[T]

// step is what is done to one thing.
type step[T any] struct {
	name, action string
	// settings are those of a zone that differ, or those of a new zone that are not
	// the default.
	settings []change.Difference
	// left says what is not as the file says, and stays, since an operator has changed it.
	left []string
	// was is nil for what is new, now for what the file does not have.
	was, now *T
	// lines are the differences for people.
	lines []string
	// version names what now was compared with.
	version string
}

// does reports whether a step changes something.
func (s *step[T]) does() bool {
	return s.action == actionMake || s.action == actionChange || s.action == actionDelete
}

// differs reports whether a thing is not as the file says.
func (s *step[T]) differs() bool { return s.does() || s.left != nil }

// compare returns what makes the things of the server those that are wanted. What is deleted comes last.
func (r resource[T]) compare(ctx context.Context, wanted []T, prune bool) (p plan[T], err error) {
	there, err := r.all(ctx)
	if err != nil {
		return nil, err
	}
	listed := make(map[string]*step[T], len(wanted))
	for _, want := range wanted {
		s := &step[T]{name: r.name(want), action: actionMake, now: &want}
		listed[s.name] = s
		p = append(p, s)
	}
	for _, is := range there.Value {
		s := listed[r.name(is)]
		if s == nil {
			s = &step[T]{name: r.name(is), action: actionUnlisted, was: &is}
			p = append(p, s)
		}
		if s.now == nil && !prune {
			continue
		}
		if err := r.fetch(ctx, s); err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.one, s.name, err)
		}
	}
	for _, s := range p {
		if s.now != nil && s.differs() {
			r.label(s)
		}
	}
	return p, nil
}

// fetch asks for what is there, and decides what is done to it.
func (r resource[T]) fetch(ctx context.Context, s *step[T]) error {
	is, err := r.get(ctx, s.name)
	if err != nil {
		return err
	}
	s.was, s.version = &is.Value, is.Version
	if s.now == nil {
		s.action = actionDelete
		lost, err := r.lose(ctx, s)
		for _, said := range lost {
			s.lines = append(s.lines, said.String())
		}
		return err
	}
	if r.adopt != nil {
		s.left = r.adopt(s.now, *s.was)
	}
	switch {
	case !r.same(*s.was, *s.now):
		s.action = actionChange
	case s.left != nil:
		s.action = actionLeave
	default:
		s.action = actionSame
	}
	return nil
}

// carryOut does the steps and returns all errors, and how many steps were not tried. A step that fails does not keep the
// others from being done, but a server that does not answer, or refuses the token, does. done is called after each that
// was done.
func (r resource[T]) carryOut(ctx context.Context, p plan[T], done func(*step[T])) (all []error, left int) {
	stop := false
	for _, s := range p {
		if !s.does() {
			continue
		}
		if stop {
			left++
			continue
		}
		var err error
		if s.action == actionDelete {
			err = r.remove(ctx, s.name, s.version)
		} else {
			err = r.put(ctx, s)
		}
		if err == nil {
			done(s)
			continue
		}
		all = append(all, fmt.Errorf("%s %s: %w", r.one, s.name, err))
		stop = ctx.Err() != nil || errors.Is(err, adminclient.ErrUnreachable) || errors.Is(err, adminclient.ErrUnauthorized)
	}
	return all, left
}

// count returns how many steps are so.
func (p plan[T]) count(is func(*step[T]) bool) (n int) {
	for _, s := range p {
		if is(s) {
			n++
		}
	}
	return n
}

// action counts the steps that do that.
func (p plan[T]) action(want string) int {
	return p.count(func(s *step[T]) bool { return s.action == want })
}

// summary counts what is to be done.
func (p plan[T]) summary() string {
	text := fmt.Sprintf("%d to make, %d to change, %d to delete; %d as the file says already",
		p.action(actionMake), p.action(actionChange), p.action(actionDelete), p.action(actionSame))
	if n := p.action(actionUnlisted); n > 0 {
		text += fmt.Sprintf("; %d not in the file, left alone (--prune deletes them)", n)
	}
	if n := p.count(func(s *step[T]) bool { return s.left != nil }); n > 0 {
		text += fmt.Sprintf("; %d changed by an operator during an event, and left so", n)
	}
	return text + "."
}
