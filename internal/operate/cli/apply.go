package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/operate/configfile"
	"github.com/openqueue/waitingroom/internal/zone"
)

// What a step does. A step without an action finds a zone or policy as the file says.
const (
	actionMake   = "make"
	actionChange = "change"
)

// What apply does with a zone that there is.
const (
	existingMatch = "match"
	existingMerge = "merge"
	existingKeep  = "keep"
)

// step makes one zone or policy as a file says.
type step struct {
	// name has the kind before it: zone TICKETS.
	name, action string
	// lines are the differences for people, kept those that stay.
	lines, kept []string
	// put makes the change, if the zone or policy is still as it was compared.
	put func(context.Context) error
}

// applyZones is queue-server zones apply.
func (c *connection) applyZones(fileKeys []string) *cobra.Command {
	return c.apply("deleteZone", fileKeys, "zones", "settings", func(ctx context.Context, s *session, f *configfile.File, existing string) ([]step, error) {
		return compareAll(ctx, f.Zones, func(ctx context.Context, want zone.Settings) (step, error) {
			return s.compareZone(ctx, want, existing, f.Named[want.ZoneID])
		})
	})
}

// applyLimits is queue-server limits apply.
func (c *connection) applyLimits(fileKeys []string) *cobra.Command {
	return c.apply("putLimit", fileKeys, "limits", "policies", func(ctx context.Context, s *session, f *configfile.File, existing string) ([]step, error) {
		return compareAll(ctx, f.Limits, func(ctx context.Context, want limit.Policy) (step, error) {
			return s.comparePolicy(ctx, want, existing)
		})
	})
}

func compareAll[T any](ctx context.Context, wanted []T, compare func(context.Context, T) (step, error)) ([]step, error) {
	steps := make([]step, len(wanted))
	for i, want := range wanted {
		var err error
		if steps[i], err = compare(ctx, want); err != nil {
			return nil, fmt.Errorf("%s: %w", steps[i].name, err)
		}
	}
	return steps, nil
}

// compareZone compares a zone of a file with the server's. What an event that is under way has changed differs only if the file
// has another value than before the event. named are the settings that the file has.
func (s *session) compareZone(ctx context.Context, want zone.Settings, existing string, named []string) (step, error) {
	one, was := step{name: "zone " + want.ZoneID}, zone.Defaults(want.ZoneID)
	is, err := get[zone.Settings](ctx, s, "getZone", want.ZoneID)
	switch {
	case err == nil:
		was, want = is.Value, want.During(is.Value)
		if existing == existingKeep {
			want = was
		}
		if want, one.kept, err = s.steered(ctx, was, want); err != nil {
			return one, err
		}
		if existing == existingMerge {
			var kept []string
			if want, kept, err = s.merge(ctx, was, want, named); err != nil {
				return one, err
			}
			one.kept = append(one.kept, kept...)
		}
	case errors.Is(err, adminclient.ErrNotFound):
		one.action = actionMake
	default:
		return one, err
	}
	settings, t := make(map[string]any), &table{}
	differences := change.Differences(zone.Table, was, want)
	for _, d := range differences {
		settings[d.Name] = d.NowValue
		one.action = cmp.Or(one.action, actionChange)
	}
	for _, d := range change.Events(was, want, differences) {
		name, values, _ := strings.Cut(d.String(), " ")
		if one.action == actionMake {
			_, values, _ = strings.Cut(values, " -> ")
		}
		t.add("  "+name, values)
	}
	one.lines = t.lines()
	now := time.Now()
	if fault := cmp.Or(was.EventState.Refuses(want.ZoneID, want.Events), was.EventState.ListFault(was.Events, want.Events, now)); fault != "" {
		one.lines = append(one.lines, "the server will refuse it: "+fault)
	} else {
		for _, said := range change.List(was, want, now) {
			one.lines = append(one.lines, said.String())
		}
	}
	one.put = func(ctx context.Context) error {
		if one.action == actionMake {
			_, err := put[zone.Settings](ctx, s, "putZone", want.ZoneID, settings, "")
			return err
		}
		_, err := s.patch(ctx, want.ZoneID, settings, is.Version)
		return err
	}
	return one, nil
}

// steered returns what a file wants of a zone with the cap that its autopilot has set, and a line that says so, if the file has the cap that
// the autopilot began from: the one that the record says somebody set last. A file with another cap changes it, which holds the autopilot.
func (s *session) steered(ctx context.Context, is, want zone.Settings) (next zone.Settings, kept []string, err error) {
	if is.Pilot != zone.PilotSteer || want.Pilot != zone.PilotSteer || is.MaxInside == want.MaxInside {
		return want, nil, nil
	}
	record, err := s.changes(ctx, is.ZoneID, "", zone.MaxChanges)
	if err != nil {
		return want, nil, err
	}
	x := zone.Table.Find("maxInside")
	if last := lastOf(record.Value.Zones, x); last.Now != nil && !x.Same(*last.Now, want) {
		return want, nil, nil
	}
	kept = []string{fmt.Sprintf("%s stays %s, which the autopilot has set; the file says %s, as before", x.Name, x.Text(is), x.Text(want))}
	x.Take(&want, is)
	return want, kept, nil
}

// merge returns a zone with those of a file's settings that the file names and nobody else has set since, and a line for each of
// the others. Who made the zone from the file, or from the server's own, is nobody else. A pause stays whoever made it.
func (s *session) merge(ctx context.Context, is, want zone.Settings, named []string) (next zone.Settings, kept []string, err error) {
	next = is
	differences := zone.Table.Differences(is, want)
	differences = slices.DeleteFunc(differences, func(x *zone.Setting) bool { return !slices.Contains(named, x.Name) })
	if len(differences) == 0 {
		return next, nil, nil
	}
	record, err := s.changes(ctx, is.ZoneID, "", zone.MaxChanges)
	if err != nil {
		return next, nil, err
	}
	for _, x := range differences {
		last := lastOf(record.Value.Zones, x)
		switch {
		case !s.ours(last.Name, last.AtMillis):
			kept = append(kept, fmt.Sprintf("%s stays %s: set %s; the file says %s", x.Name, x.Text(is), byAt(last.Name, last.AtMillis), x.Text(want)))
		case x.Name == "perMinute" && is.PerMinute == 0:
			kept = append(kept, fmt.Sprintf("%s stays 0, a pause; the file says %s", x.Name, x.Text(want)))
		default:
			x.Take(&next, want)
		}
	}
	return next, kept, nil
}

// ours reports whether the latest change, if there is one, was made under this command's name or by the server's own file.
func (s *session) ours(by string, atMillis int64) bool {
	return atMillis == 0 || by == zone.ByConfig || by != "" && by == s.by()
}

func byAt(by string, atMillis int64) string {
	return fmt.Sprintf("by %s at %s", cmp.Or(by, "somebody"), time.UnixMilli(atMillis).UTC().Format(time.RFC3339))
}

// lastOf returns the latest change of a setting, of a record that has the newest first; without a time if there is none.
func lastOf(record []zone.Change, x *zone.Setting) zone.Change {
	for _, c := range record {
		if c.Now != nil && (c.Was == nil || !x.Same(*c.Was, *c.Now)) {
			return c
		}
	}
	return zone.Change{}
}

// comparePolicy compares a policy of a file with the server's.
func (s *session) comparePolicy(ctx context.Context, want limit.Policy, existing string) (step, error) {
	want = want.WithDefaults()
	one := step{name: "policy " + want.Name}
	one.put = func(ctx context.Context) error {
		_, err := put[limit.Policy](ctx, s, "putLimit", want.Name, want, "")
		return err
	}
	is, err := get[limit.Policy](ctx, s, "getLimit", want.Name)
	switch {
	case errors.Is(err, adminclient.ErrNotFound):
		one.action, one.lines = actionMake, policyTable(want).lines()[1:]
		return one, nil
	case err != nil:
		return one, err
	}
	differs := policyset.Version(is.Value) != policyset.Version(want)
	if differs && existing == existingMerge {
		record, err := s.changes(ctx, "", want.Name, 1)
		if err != nil {
			return one, err
		}
		for _, last := range record.Value.Policies {
			if differs = s.ours(last.Name, last.AtMillis); !differs {
				one.kept = []string{"stays as it is: changed " + byAt(last.Name, last.AtMillis)}
			}
		}
	}
	if differs && existing != existingKeep {
		one.action, one.lines = actionChange, policyLines(is.Value, want)
		one.put = func(ctx context.Context) error {
			_, err := put[limit.Policy](ctx, s, "putLimit", want.Name, want, is.Version)
			return err
		}
	}
	return one, nil
}

// apply returns the command that makes what a server has of a kind as a file says. key is the kind in the file, what the same for
// people. The command prints what differs and, when the operator agrees, changes that and nothing else.
func (c *connection) apply(id string, fileKeys []string, key, what string,
	compare func(ctx context.Context, s *session, f *configfile.File, existing string) ([]step, error),
) *cobra.Command {
	var file string
	existing := existingMatch
	var check, yes bool
	command := c.command(id, "apply", "Make the "+what+" match a file; shows the differences first.", func(ctx context.Context, s *session, _ []string) error {
		if s.json {
			return Usage("--json is not for apply; --check has an exit status of its own")
		}
		text, err := s.readFile(file)
		if err != nil {
			return Usage("the %s cannot be read: %w", key, err)
		}
		if file == "-" {
			file = "standard input"
		}
		f, err := configfile.Parse(file, text, fileKeys)
		if err != nil {
			return UsageError{err}
		}
		if !slices.Contains([]string{existingMatch, existingMerge, existingKeep}, existing) {
			return Usage("--existing is %q, must be %s, %s or %s", existing, existingMatch, existingMerge, existingKeep)
		}
		steps, err := compare(ctx, s, f, existing)
		switch {
		case err != nil:
			return err
		case len(steps) == 0:
			return Usage("%s: it holds no %s", file, key)
		}
		todo := s.showSteps(file, steps)
		switch {
		case len(todo) == 0:
			return nil
		case check:
			return errDiffers
		case !yes:
			if err := s.confirm(ctx, "yes", "change "+key+", or --check to see the differences only", "Type yes to do this: "); err != nil {
				return err
			}
		}
		return s.carryOut(ctx, todo)
	})
	flags := command.Flags()
	flags.StringVarP(&file, "file", "f", "", "YAML `FILE` with "+key+", as for QUEUE_CONFIG; - is standard input; what it leaves out of one has its default")
	flags.StringVar(&existing, "existing", existing, "what to do with what there is: match the file, with defaults for what it leaves out of one; "+
		"merge: change only what the file names, and leave what somebody else has set since; keep it as it is")
	flags.BoolVar(&check, "check", false, "only print the differences; exit status 7 if there are any")
	flags.BoolVarP(&yes, "yes", "y", false, "do not ask")
	_ = command.MarkFlagRequired("file") // there is such a flag
	CompleteFiles(command, "file")
	return command
}

// showSteps prints the differences, and returns the steps that have something to do.
func (s *session) showSteps(file string, steps []step) (todo []step) {
	todo = slices.DeleteFunc(slices.Clone(steps), func(one step) bool { return one.action == "" })
	if len(todo) > 0 {
		s.say("To make %s as %s says:\n", s.URL(), file)
	}
	made := 0
	for _, one := range todo {
		if one.action == actionMake {
			made++
		}
		s.say("  %s: %s", one.name, one.action)
		for _, text := range one.lines {
			s.say("    %s", text)
		}
	}
	if len(todo) > 0 {
		s.say("")
	}
	stays := 0
	for _, one := range steps {
		for i, text := range one.kept {
			if i == 0 {
				s.say("  %s:", one.name)
			}
			s.say("    %s", text)
		}
		if len(one.kept) > 0 && one.action == "" {
			stays++
		}
	}
	s.say("%d to make, %d to change; %d as the file says already.", made, len(todo)-made, len(steps)-len(todo)-stays)
	return todo
}

// carryOut does the steps, and returns all errors. A step that fails does not keep the others from being done, but a server that
// does not answer, or refuses the token, does.
func (s *session) carryOut(ctx context.Context, todo []step) error {
	var failed []error
	done := 0
	for _, one := range todo {
		err := one.put(ctx)
		if err == nil {
			done++
			s.say("  %s: %s", one.name, map[string]string{actionMake: "made", actionChange: "changed"}[one.action])
			continue
		}
		failed = append(failed, fmt.Errorf("%s: %w", one.name, err))
		if ctx.Err() != nil || errors.Is(err, adminclient.ErrUnreachable) || errors.Is(err, adminclient.ErrUnauthorized) {
			break
		}
	}
	s.say("%d done, %d failed, %d not tried.", done, len(failed), len(todo)-done-len(failed))
	if len(failed) > 0 {
		return fmt.Errorf("%w\nThe command can be repeated: it does only what is left", errors.Join(failed...))
	}
	return nil
}
