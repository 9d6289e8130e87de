package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/zone"
)

// applyCommand is queue-server zones apply.
type applyCommand struct {
	File  string `short:"f" required:"" placeholder:"FILE" help:"YAML with zones, as for QUEUE_CONFIG; - is standard input. What a zone leaves out has its default." complete:"file"`
	Check bool   `help:"Only print the differences; exit status 7 if there are any."`
	Prune bool   `help:"Delete the zones that the file does not have."`
	Yes   bool   `short:"y" help:"Do not ask."`
	deskFlags
}

// Run prints what differs and, when the operator agrees, changes that and
// nothing else.
func (c applyCommand) Run(ctx context.Context, at *surroundings, src *sources) error {
	wanted, err := c.read(at, src)
	if err != nil {
		return usageError{err}
	}
	return c.at(at, func(d *desk) error {
		p, err := d.makePlan(ctx, wanted, c.Prune)
		if err != nil {
			return err
		}
		if !d.json {
			d.showPlan(p, c.File)
		}
		if c.Check || len(p.Steps) == 0 {
			err := d.printPlan(p)
			if err == nil && len(p.Steps) > 0 {
				err = errDiffers
			}
			return err
		}
		if !c.Yes {
			if err := d.confirmPlan(ctx, p); err != nil {
				return err
			}
		}
		failed := d.carryOut(ctx, p)
		return errors.Join(failed, d.printPlan(p))
	})
}

// read returns the zones of the file.
func (c applyCommand) read(at *surroundings, src *sources) ([]zone.Settings, error) {
	file, err := at.readWanted(c.File, "zones", src)
	if err != nil {
		return nil, err
	}
	if len(file.zones) == 0 {
		return nil, noneWanted(file, "zones")
	}
	return file.zones, nil
}

// readWanted reads a file that says what there is to be. It may hold a server's
// settings too.
func (at *surroundings) readWanted(name, what string, src *sources) (*configFile, error) {
	text, err := at.readInput(name)
	if err != nil {
		return nil, fmt.Errorf("the %s cannot be read: %w", what, err)
	}
	if name == "-" {
		name = "standard input"
	}
	return parseConfig(name, text, src.keys)
}

// noneWanted is what is wrong with a file that does not say a word of them.
func noneWanted(file *configFile, what string) error {
	return fmt.Errorf("%s: it holds no %s; if there shall be none, delete them one by one", file.path, what)
}

// showPlan prints the differences for people.
func (d *desk) showPlan(p *plan, file string) {
	if len(p.Steps) > 0 {
		d.say("To make %s as %s says:\n", d.URL(), file)
	}
	for _, text := range p.lines() {
		d.say("%s", text)
	}
	if len(p.Steps) > 0 {
		d.say("")
	}
	d.say("%s", p.summary())
}

// printPlan prints the plan, with what became of it, for scripts.
func (d *desk) printPlan(p *plan) error {
	if !d.json {
		return nil
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return d.printJSON(text)
}

// confirmPlan asks whether to go on; and again, in other words, before zones
// with people in them are deleted.
func (d *desk) confirmPlan(ctx context.Context, p *plan) error {
	agreed := func(want, format string, a ...any) error {
		typed, err := d.ask(ctx, format, a...)
		switch {
		case errors.Is(err, errNobody):
			return usage("%w: say --yes to change zones, or --check to see the differences only", err)
		case err != nil:
			return err
		case typed != want:
			return errNotConfirmed
		}
		return nil
	}
	if err := agreed("yes", "Type yes to do this: "); err != nil {
		return err
	}
	deleted := p.of(actionDelete)
	if len(deleted) == 0 {
		return nil
	}
	waiting := int64(0)
	for _, s := range deleted {
		waiting += s.Waiting
	}
	want := "delete " + counted(len(deleted), "zone", "zones")
	return agreed(want, "THIS CANNOT BE UNDONE: %s be lost for good.\nType \"%s\" to go on: ", willBe(waiting), want)
}

func willBe(waiting int64) string {
	if waiting == 1 {
		return "1 place will"
	}
	return grouped(waiting) + " places will"
}

// carryOut does the steps, those that delete last, and returns the first error.
// A zone that fails does not keep the others from being done, but a server that
// does not answer, or refuses the token, does.
func (d *desk) carryOut(ctx context.Context, p *plan) error {
	var first error
	stop := false
	for _, s := range p.Steps {
		if stop {
			s.Result = resultSkipped
			continue
		}
		s.err = d.carryOutOne(ctx, s)
		s.Result = resultDone
		if s.err == nil {
			if !d.json {
				d.say("  %s: %s", s.ZoneID, map[string]string{actionMake: "made", actionChange: "changed", actionDelete: "deleted"}[s.Action])
			}
			continue
		}
		s.Result, s.Error = resultFailed, s.err.Error()
		if first == nil {
			first = s.err
		}
		stop = ctx.Err() != nil || errors.Is(s.err, adminclient.ErrUnreachable) || errors.Is(s.err, adminclient.ErrUnauthorized)
	}
	done, failed, skipped := p.count(resultDone), p.count(resultFailed), p.count(resultSkipped)
	if !d.json {
		d.say("%d done, %d failed, %d not tried.", done, failed, skipped)
	}
	if first == nil {
		return nil
	}
	return fmt.Errorf("%w\nThe command can be repeated: it does only what is left", p.failures())
}

func (p *plan) count(result string) int {
	n := 0
	for _, s := range p.Steps {
		if s.Result == result {
			n++
		}
	}
	return n
}

// failures are the errors of all steps.
func (p *plan) failures() error {
	var all []error
	for _, s := range p.Steps {
		if s.err != nil {
			all = append(all, fmt.Errorf("zone %s: %w", s.ZoneID, s.err))
		}
	}
	return errors.Join(all...)
}

func (d *desk) carryOutOne(ctx context.Context, s *step) error {
	settings := make(map[string]any, len(s.Settings))
	for _, c := range s.Settings {
		settings[c.Name] = c.Now
	}
	var err error
	switch s.Action {
	case actionMake:
		_, err = d.Create(ctx, s.ZoneID, settings)
	case actionChange:
		_, err = d.Change(ctx, s.ZoneID, settings, s.version)
	default:
		err = d.Delete(ctx, s.ZoneID, s.version)
	}
	return err
}
