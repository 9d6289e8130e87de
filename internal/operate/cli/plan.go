package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/zone"
)

// What a step does to a zone.
const (
	actionMake   = "make"
	actionChange = "change"
	actionDelete = "delete"
)

// What became of a step.
const (
	resultPlanned = "planned"
	resultDone    = "done"
	resultFailed  = "failed"
	// resultSkipped: a step before it failed in a way that would fail it too.
	resultSkipped = "skipped"
)

// plan is what makes the zones of a server those of a file. As JSON it is what
// zones apply --json prints.
type plan struct {
	Steps []*step `json:"steps"`
	// Same are zones that are already as the file says.
	Same []string `json:"same"`
	// Unlisted are zones that the file does not have and that stay, for want
	// of --prune.
	Unlisted []string `json:"unlisted"`
}

// step is what is done to one zone.
type step struct {
	ZoneID string `json:"zoneId"`
	Action string `json:"action"`
	// Settings are those that differ, or those of a new zone that are not the
	// default.
	Settings []settingChange `json:"settings"`
	// Waiting is how many lose their places in a zone that is deleted.
	Waiting int64  `json:"waiting,omitempty"`
	Result  string `json:"result"`
	// Error says why a step failed.
	Error string `json:"error,omitempty"`

	err error
	// version names the settings that Settings was compared with.
	version string
}

// settingChange is one setting of a step. Was is null for a new zone.
type settingChange struct {
	Name string `json:"name"`
	Was  any    `json:"was"`
	Now  any    `json:"now"`
}

// makePlan compares the zones of the server with those wanted.
func (d *desk) makePlan(ctx context.Context, wanted []zone.Settings, prune bool) (*plan, error) {
	reply, err := d.Zones(ctx)
	if err != nil {
		return nil, err
	}
	there := make(map[string]bool)
	for _, z := range reply.Value.Zones {
		there[z.ZoneID] = true
	}
	p := &plan{Steps: []*step{}, Same: []string{}, Unlisted: []string{}}
	for _, want := range wanted {
		if !there[want.ZoneID] {
			p.Steps = append(p.Steps, newStep(want))
			continue
		}
		is, err := d.Zone(ctx, want.ZoneID)
		if err != nil {
			return nil, fmt.Errorf("zone %s: %w", want.ZoneID, err)
		}
		if s := changeStep(is, want); len(s.Settings) > 0 {
			p.Steps = append(p.Steps, s)
		} else {
			p.Same = append(p.Same, want.ZoneID)
		}
	}
	for _, z := range reply.Value.Zones {
		if slices.ContainsFunc(wanted, func(w zone.Settings) bool { return w.ZoneID == z.ZoneID }) {
			continue
		}
		if !prune {
			p.Unlisted = append(p.Unlisted, z.ZoneID)
			continue
		}
		s, err := d.deleteStep(ctx, z.ZoneID)
		if err != nil {
			return nil, fmt.Errorf("zone %s: %w", z.ZoneID, err)
		}
		p.Steps = append(p.Steps, s)
	}
	return p, nil
}

func newStep(want zone.Settings) *step {
	s := &step{ZoneID: want.ZoneID, Action: actionMake, Result: resultPlanned, Settings: []settingChange{}}
	usual := settingsOf(zone.Defaults(want.ZoneID))
	for i, setting := range settingsOf(want) {
		if setting.name == perMinuteKey || setting.value != usual[i].value {
			s.Settings = append(s.Settings, settingChange{Name: setting.name, Now: setting.value})
		}
	}
	return s
}

func changeStep(is adminclient.Reply[zone.Settings], want zone.Settings) *step {
	s := &step{ZoneID: want.ZoneID, Action: actionChange, Result: resultPlanned, version: is.Version}
	for _, d := range differences(is.Value, want) {
		s.Settings = append(s.Settings, settingChange{d.name, d.was, d.now})
	}
	return s
}

func (d *desk) deleteStep(ctx context.Context, zoneID string) (*step, error) {
	is, err := d.Zone(ctx, zoneID)
	if err != nil {
		return nil, err
	}
	stats, err := d.Stats(ctx, zoneID)
	if err != nil {
		return nil, err
	}
	return &step{
		ZoneID: zoneID, Action: actionDelete, Result: resultPlanned, Settings: []settingChange{},
		Waiting: stats.Value.Waiting, version: is.Version,
	}, nil
}

// of returns the steps of one action.
func (p *plan) of(action string) []*step {
	var all []*step
	for _, s := range p.Steps {
		if s.Action == action {
			all = append(all, s)
		}
	}
	return all
}

// lines are the steps for people, each setting on a line of its own.
func (p *plan) lines() []string {
	var all []string
	for _, s := range p.Steps {
		word := s.Action
		if s.Action == actionDelete {
			word = "DELETE, " + places(s.Waiting)
		}
		all = append(all, fmt.Sprintf("  %s: %s", s.ZoneID, word))
		t := &table{columns: []column{{}, {}}}
		for _, c := range s.Settings {
			value := fmt.Sprint(c.Now)
			if s.Action == actionChange {
				value = fmt.Sprintf("%v -> %v", c.Was, c.Now)
			}
			t.add("      "+c.Name, value)
		}
		all = append(all, t.lines(0)[1:]...)
	}
	return all
}

// places says who loses the place with a zone.
func places(n int64) string {
	switch n {
	case 0:
		return "in which nobody waits"
	case 1:
		return "with the place of 1 who waits"
	}
	return "with the places of " + grouped(n) + " who wait"
}

// summary counts what is to be done.
func (p *plan) summary() string {
	text := fmt.Sprintf("%d to make, %d to change, %d to delete; %d as the file says already",
		len(p.of(actionMake)), len(p.of(actionChange)), len(p.of(actionDelete)), len(p.Same))
	if n := len(p.Unlisted); n > 0 {
		text += fmt.Sprintf("; %d not in the file, left alone (--prune deletes them)", n)
	}
	return text + "."
}
