package main

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/operate/adminclient"
)

// limitApplyCommand is queue-server limits apply.
type limitApplyCommand struct {
	File  string `short:"f" required:"" placeholder:"FILE" help:"YAML with limits, as for QUEUE_CONFIG; - is standard input. What a policy leaves out has its default." complete:"file"`
	Check bool   `help:"Only print the differences; exit status 7 if there are any."`
	Prune bool   `help:"Delete the policies that the file does not have."`
	Yes   bool   `short:"y" help:"Do not ask."`
	deskFlags
}

// limitStep is what is done to one policy. As JSON it is what limits apply --json
// prints.
type limitStep struct {
	Policy string `json:"policy"`
	Action string `json:"action"`
	// Was is null for a new policy, Now for one that is deleted.
	Was    *limit.Policy `json:"was"`
	Now    *limit.Policy `json:"now"`
	Result string        `json:"result"`
	// Error says why a step failed.
	Error string `json:"error,omitempty"`

	version string
}

// Run prints what differs and, when the operator agrees, changes that and nothing
// else.
func (c limitApplyCommand) Run(ctx context.Context, at *surroundings, src *sources) error {
	wanted, err := c.read(at, src)
	if err != nil {
		return usageError{err}
	}
	return c.at(at, func(d *desk) error {
		steps, err := d.limitSteps(ctx, wanted, c.Prune)
		if err != nil {
			return err
		}
		if !d.json {
			d.showLimitSteps(steps, c.File)
		}
		switch {
		case len(steps) == 0:
			return d.printLimitSteps(steps)
		case c.Check:
			return errors.Join(d.printLimitSteps(steps), errDiffers)
		case !c.Yes:
			if err := d.confirm(ctx, "yes", "policies", "Type yes to do this: "); err != nil {
				return err
			}
		}
		failed := d.doLimitSteps(ctx, steps)
		return errors.Join(failed, d.printLimitSteps(steps))
	})
}

// read returns the policies of the file.
func (c limitApplyCommand) read(at *surroundings, src *sources) ([]limit.Policy, error) {
	file, err := at.readWanted(c.File, "policies", src)
	if err != nil {
		return nil, err
	}
	if len(file.limits) == 0 {
		return nil, noneWanted(file, "limits")
	}
	return file.limits, nil
}

// limitSteps compares the policies of the server with those wanted.
func (d *desk) limitSteps(ctx context.Context, wanted []limit.Policy, prune bool) ([]*limitStep, error) {
	reply, err := d.Limits(ctx)
	if err != nil {
		return nil, err
	}
	steps := []*limitStep{}
	there, listed := limit.PolicySet{Policies: reply.Value.Limits}, limit.PolicySet{}
	for _, want := range wanted {
		want = want.WithDefaults()
		listed.Policies = append(listed.Policies, want)
		if _, ok := there.Find(want.Name); !ok {
			steps = append(steps, &limitStep{Policy: want.Name, Action: actionMake, Now: &want, Result: resultPlanned})
			continue
		}
		s, err := d.limitStep(ctx, want.Name, &want)
		if err != nil {
			return nil, err
		}
		if !reflect.DeepEqual(*s.Was, want) {
			steps = append(steps, s)
		}
	}
	for _, p := range there.Policies {
		if _, ok := listed.Find(p.Name); ok || !prune {
			continue
		}
		s, err := d.limitStep(ctx, p.Name, nil)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// limitStep is what makes a policy that is there another one, or none.
func (d *desk) limitStep(ctx context.Context, name string, now *limit.Policy) (*limitStep, error) {
	is, err := d.Limit(ctx, name)
	if err != nil {
		return nil, d.aboutPolicy(ctx, name, err)
	}
	s := &limitStep{Policy: name, Action: actionChange, Was: new(is.Value), Now: now, Result: resultPlanned, version: is.Version}
	if now == nil {
		s.Action = actionDelete
	}
	return s, nil
}

// showLimitSteps prints the differences for people: what is, and what shall be.
func (d *desk) showLimitSteps(steps []*limitStep, file string) {
	if len(steps) == 0 {
		d.say("All is as %s says.", file)
		return
	}
	d.say("To make %s as %s says:", d.URL(), file)
	for _, s := range steps {
		d.say("\n  %s: %s", s.Policy, s.Action)
		was, now := linesOf(s.Was), linesOf(s.Now)
		show := func(mark string, lines, other []string) {
			for _, text := range lines {
				if !slices.Contains(other, text) {
					d.say("    %s %s", mark, text)
				}
			}
		}
		show("-", was, now)
		show("+", now, was)
	}
	d.say("")
}

// linesOf are the lines of a policy; none of none.
func linesOf(p *limit.Policy) []string {
	if p == nil {
		return nil
	}
	return policyLines(*p)
}

func (d *desk) printLimitSteps(steps []*limitStep) error {
	if !d.json {
		return nil
	}
	text, err := json.Marshal(map[string][]*limitStep{"steps": steps})
	if err != nil {
		return err
	}
	return d.printJSON(text)
}

// doLimitSteps does the steps, and returns the first error. A policy that fails does
// not keep the others from being done, but a server that does not answer does.
func (d *desk) doLimitSteps(ctx context.Context, steps []*limitStep) error {
	var first error
	stop := false
	for _, s := range steps {
		if stop {
			s.Result = resultSkipped
			continue
		}
		err := d.doLimitStep(ctx, s)
		if err == nil {
			s.Result = resultDone
			if !d.json {
				d.say("  %s: %s", s.Policy, map[string]string{actionMake: "made", actionChange: "changed", actionDelete: "deleted"}[s.Action])
			}
			continue
		}
		s.Result, s.Error = resultFailed, err.Error()
		stop = ctx.Err() != nil || errors.Is(err, adminclient.ErrUnreachable) || errors.Is(err, adminclient.ErrUnauthorized)
		if first == nil {
			first = d.aboutPolicy(ctx, s.Policy, err)
		}
	}
	return first
}

func (d *desk) doLimitStep(ctx context.Context, s *limitStep) error {
	if s.Now == nil {
		return d.DeleteLimit(ctx, s.Policy, s.version)
	}
	_, err := d.PutLimit(ctx, *s.Now, s.version)
	return err
}

// confirm asks whether to go on.
func (d *desk) confirm(ctx context.Context, want, what, format string, a ...any) error {
	typed, err := d.ask(ctx, format, a...)
	switch {
	case errors.Is(err, errNobody):
		return usage("%w: say --yes to change %s", err, what)
	case err != nil:
		return err
	case typed != want:
		return errNotConfirmed
	}
	return nil
}

// limitDeleteCommand is queue-server limits delete.
type limitDeleteCommand struct {
	policyArg
	Yes bool `short:"y" help:"Do not ask."`
	deskFlags
}

// Run deletes a policy, if it is still the one that was looked at.
func (c limitDeleteCommand) Run(ctx context.Context, at *surroundings) error {
	return c.at(at, func(d *desk) error {
		is, err := d.Limit(ctx, c.Policy)
		if err != nil {
			return d.aboutPolicy(ctx, c.Policy, err)
		}
		if !c.Yes {
			if err := d.confirm(ctx, c.Policy, "policies", "Whoever asks for policy %s will be told that there is none. Type its name to delete it: ", c.Policy); err != nil {
				return err
			}
		}
		if err := d.DeleteLimit(ctx, c.Policy, is.Version); err != nil {
			return d.aboutPolicy(ctx, c.Policy, err)
		}
		if !d.json {
			d.say("Deleted policy %s.", c.Policy)
		}
		return nil
	})
}
