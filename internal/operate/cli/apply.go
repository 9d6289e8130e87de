package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/operate/configfile"
	"github.com/openqueue/waitingroom/internal/zone"
)

// zonesOf are the zones of a server.
func zonesOf(s *session) resource[zone.Settings] {
	return resource[zone.Settings]{
		adopt: func(want *zone.Settings, is zone.Settings) (left []string) {
			next, others := want.During(is)
			*want = next
			for _, x := range others {
				left = append(left, fmt.Sprintf("%s is %s, set by an operator during %s; left alone", x.Name, x.Text(is), is.EventState.Now.Event.Name))
			}
			return left
		},
		one: "zone", many: "zones", name: func(z zone.Settings) string { return z.ZoneID }, same: zone.Settings.Equal, label: labelZone,
		all: s.Zones, get: s.Zone, remove: s.Delete,
		put: func(ctx context.Context, step *step[zone.Settings]) (err error) {
			settings := make(map[string]any, len(step.settings))
			for _, d := range step.settings {
				settings[d.Name] = d.NowValue
			}
			if step.action == actionMake {
				_, err = s.Create(ctx, step.name, settings)
			} else {
				_, err = s.Change(ctx, step.name, settings, step.version)
			}
			return err
		},
		lose: func(ctx context.Context, step *step[zone.Settings]) (change.Says, error) {
			reply, err := s.Stats(ctx, step.name)
			return change.ZoneLoss(change.Line{Known: true, Waiting: reply.Value.Waiting}), err
		},
	}
}

// labelZone lists each setting that differs, and what comes of another list of events.
func labelZone(s *step[zone.Settings]) {
	t := &table{}
	was := zone.Defaults(s.name)
	if s.was != nil {
		was = *s.was
		s.settings = change.Differences(zone.Table, was, *s.now)
		for _, d := range change.Events(was, *s.now, s.settings) {
			name, values, _ := strings.Cut(d.String(), " ")
			t.add("  "+name, values)
		}
	} else {
		for i := range zone.Table {
			if x := &zone.Table[i]; x.Name == perMinuteKey || !x.Same(*s.now, was) {
				s.settings = append(s.settings, change.Difference{Name: x.Name, NowValue: x.Value(*s.now)})
				t.add("  "+x.Name, x.Text(*s.now))
			}
		}
	}
	s.lines = slices.Concat(t.lines(), s.left)
	now := time.Now()
	if fault := cmp.Or(was.EventState.Refuses(s.name, s.now.Events), was.EventState.ListFault(was.Events, s.now.Events, now)); fault != "" {
		s.lines = append(s.lines, "the server will refuse it: "+fault)
		return
	}
	for _, said := range change.List(was, *s.now, now) {
		s.lines = append(s.lines, said.String())
	}
}

// policiesOf are the policies of a server.
func policiesOf(s *session) resource[limit.Policy] {
	return resource[limit.Policy]{
		one: "policy", many: "policies", name: func(p limit.Policy) string { return p.Name }, all: s.Limits, get: s.Limit, remove: s.DeleteLimit,
		same:  func(a, b limit.Policy) bool { return policyset.Version(a) == policyset.Version(b) },
		label: func(s *step[limit.Policy]) { s.lines = policyLines(s.was, s.now) },
		put: func(ctx context.Context, step *step[limit.Policy]) error {
			_, err := s.PutLimit(ctx, *step.now, step.version)
			return err
		},
		lose: func(_ context.Context, step *step[limit.Policy]) (change.Says, error) {
			return change.PolicyLoss(*step.was), nil
		},
	}
}

// applyZones is queue-server zones apply.
func (c *connection) applyZones(fileKeys []string) *cobra.Command {
	return apply(c, fileKeys, "zones", "settings", zonesOf, func(f *configfile.File) []zone.Settings { return f.Zones })
}

// applyLimits is queue-server limits apply.
func (c *connection) applyLimits(fileKeys []string) *cobra.Command {
	return apply(c, fileKeys, "limits", "policies", policiesOf, func(f *configfile.File) (wanted []limit.Policy) {
		for _, p := range f.Limits {
			wanted = append(wanted, p.WithDefaults())
		}
		return wanted
	})
}

// deleteOne returns the command that deletes a thing when the operator has typed its name, if it is still as it was
// then. again says how to have it back.
func deleteOne[T any](c *connection, use, short string, open func(*session) resource[T], again func(T) string) *cobra.Command {
	var yes bool
	command := c.command(use, short, func(ctx context.Context, s *session, args []string) error {
		r, one := open(s), &step[T]{name: args[0]}
		if err := r.fetch(ctx, one); err != nil {
			return err
		}
		if !yes {
			err := s.confirm(ctx, one.name, "delete "+one.name, "Delete %s?\n%s\nType its name to delete it: ", one.name, strings.Join(one.lines, "\n"))
			if err != nil {
				return err
			}
		}
		if err := r.remove(ctx, one.name, one.version); err != nil {
			return err
		}
		if s.json {
			text, err := json.Marshal(map[string]any{"name": one.name, "deleted": true})
			return s.printReply(text, err)
		}
		s.say("%s is deleted.%s", one.name, again(*one.was))
		return nil
	})
	command.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return command
}

// apply returns the command that makes the things of a server those of a file. key is
// theirs in the file; what says what a plan changes. It prints what differs and, when
// the operator agrees, changes that and nothing else.
func apply[T any](c *connection, fileKeys []string, key, what string, open func(*session) resource[T], of func(*configfile.File) []T) *cobra.Command {
	var file string
	var check, prune, yes bool
	command := c.command("apply", "Make the "+what+" match a file; shows the differences first.", func(ctx context.Context, s *session, _ []string) error {
		if s.json {
			return Usage("--json is not for apply; --check has an exit status of its own")
		}
		r := open(s)
		wanted, err := read(s, file, fileKeys, key, r.many, of)
		if err != nil {
			return UsageError{err}
		}
		p, err := r.compare(ctx, wanted, prune)
		if err != nil {
			return err
		}
		p.show(s.say, s.URL(), file)
		switch {
		case check && p.count((*step[T]).differs) > 0:
			return errDiffers
		case p.count((*step[T]).does) == 0:
			return nil
		case !yes:
			if err := r.confirm(ctx, s, p); err != nil {
				return err
			}
		}
		done := 0
		failed, left := r.carryOut(ctx, p, func(one *step[T]) {
			done++
			s.say("  %s: %s", one.name, map[string]string{actionMake: "made", actionChange: "changed", actionDelete: "deleted"}[one.action])
		})
		s.say("%d done, %d failed, %d not tried.", done, len(failed), left)
		if len(failed) > 0 {
			return fmt.Errorf("%w\nThe command can be repeated: it does only what is left", errors.Join(failed...))
		}
		return nil
	})
	flags := command.Flags()
	flags.StringVarP(&file, "file", "f", "", "YAML `FILE` with "+key+", as for QUEUE_CONFIG; - is standard input; what it leaves out of one has its default")
	flags.BoolVar(&check, "check", false, "only print the differences; exit status 7 if there are any")
	flags.BoolVar(&prune, "prune", false, "delete the "+key+" that the file does not have")
	flags.BoolVarP(&yes, "yes", "y", false, "do not ask")
	_ = command.MarkFlagRequired("file") // there is such a flag
	CompleteFiles(command, "file")
	return command
}

// read returns what a file names. It may hold a server's settings, too.
func read[T any](s *session, file string, fileKeys []string, key, many string, of func(*configfile.File) []T) ([]T, error) {
	text, err := s.readFile(file)
	if err != nil {
		return nil, fmt.Errorf("the %s cannot be read: %w", many, err)
	}
	if file == "-" {
		file = "standard input"
	}
	f, err := configfile.Parse(file, text, fileKeys)
	if err != nil {
		return nil, err
	}
	wanted := of(f)
	if len(wanted) == 0 {
		return nil, fmt.Errorf("%s: it holds no %s; if there shall be none, delete them one by one", file, key)
	}
	return wanted, nil
}

// show says the differences to people.
func (p plan[T]) show(say func(string, ...any), url, file string) {
	if p.count((*step[T]).does) > 0 {
		say("To make %s as %s says:\n", url, file)
	}
	for _, one := range p {
		if one.differs() {
			say("  %s: %s", one.name, one.action)
			for _, text := range one.lines {
				say("    %s", text)
			}
		}
	}
	if p.count((*step[T]).differs) > 0 {
		say("")
	}
	say("%s", p.summary())
}

// confirm asks whether to go on. Before something is deleted, yes is not enough.
func (r resource[T]) confirm(ctx context.Context, s *session, p plan[T]) error {
	want := "yes"
	if n := p.action(actionDelete); n > 0 {
		want = "delete " + counted(n, r.one, r.many)
	}
	return s.confirm(ctx, want, "change "+r.many+", or --check to see the differences only", "Type %s to do this: ", want)
}
