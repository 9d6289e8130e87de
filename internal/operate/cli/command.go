package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/zone"
)

// completeWord is the argument by which shells ask what may come next. After
// it come the words of the command line up to the cursor, without the name of
// the program; the last one is being typed, and may be empty.
//
// The answer is a line for each value, with a tab and a description after some;
// or completeFile, for the shell to complete names of files itself.
const completeWord = "__complete"

const completeFile = ":file"

// completeTag says how an argument or a flag is completed: zone, policy, setting, file.
const completeTag = "complete"

// completeTimeout is how long somebody who has pressed a key may be kept waiting
// for the names of zones.
const completeTimeout = time.Second

// complete answers a shell. It never fails: a shell has no use for an error.
func complete(ctx context.Context, root *kong.Node, words []string, at *surroundings) int {
	if len(words) == 0 {
		words = []string{""}
	}
	c := &completer{at: at, node: root}
	for _, word := range words[:len(words)-1] {
		c.pass(word)
	}
	for _, s := range c.suggestions(ctx, words[len(words)-1]) {
		_, _ = fmt.Fprintln(at.stdout, s)
	}
	return exitOK
}

// completer is how far a command line has been read.
type completer struct {
	at *surroundings
	// node is the command so far; args are the words that belong to its
	// positional arguments.
	node *kong.Node
	args []string
	// pending is the flag whose value comes next, or nil.
	pending *kong.Flag
	// noFlags tells that -- was passed.
	noFlags  bool
	adminURL string
}

// pass reads a word that is complete.
func (c *completer) pass(word string) {
	switch {
	case c.pending != nil:
		c.flagValue(c.pending, word)
		c.pending = nil
	case c.noFlags:
		c.args = append(c.args, word)
	case word == "--":
		c.noFlags = true
	case strings.HasPrefix(word, "-"):
		name, value, has := strings.Cut(word, "=")
		flag := c.flag(name)
		switch {
		case flag == nil:
		case has:
			c.flagValue(flag, value)
		case !flag.IsBool():
			c.pending = flag
		}
	default:
		for _, child := range c.node.Children {
			if child.Name == word {
				c.node, c.args = child, nil
				return
			}
		}
		c.args = append(c.args, word)
	}
}

func (c *completer) flagValue(flag *kong.Flag, value string) {
	if flag.Name == "admin-url" {
		c.adminURL = value
	}
}

// flags are those that may come here: of the command, of what it is part of, and
// of the command that is meant when none is named.
func (c *completer) flags() []*kong.Flag {
	nodes := []*kong.Node{c.node}
	if c.node.DefaultCmd != nil {
		nodes = append(nodes, c.node.DefaultCmd)
	}
	for n := c.node.Parent; n != nil; n = n.Parent {
		nodes = append(nodes, n)
	}
	var all []*kong.Flag
	for _, n := range nodes {
		for _, f := range n.Flags {
			if !f.Hidden {
				all = append(all, f)
			}
		}
	}
	return all
}

func (c *completer) flag(name string) *kong.Flag {
	for _, f := range c.flags() {
		if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

// suggestions are what the word may become.
func (c *completer) suggestions(ctx context.Context, word string) []string {
	if c.pending != nil {
		return startingWith(word, c.values(ctx, c.pending.Value, word))
	}
	name, value, has := strings.Cut(word, "=")
	if strings.HasPrefix(word, "-") && !c.noFlags {
		if flag := c.flag(name); has && flag != nil {
			found := startingWith(value, c.values(ctx, flag.Value, value))
			for i := range found {
				if found[i] != completeFile {
					found[i] = name + "=" + found[i]
				}
			}
			return found
		}
		return startingWith(word, c.flagNames())
	}
	var found []string
	if len(c.args) == 0 {
		for _, child := range c.node.Children {
			if !child.Hidden {
				found = append(found, child.Name+"\t"+child.Help)
			}
		}
	}
	if arg := c.positional(); arg != nil {
		found = append(found, c.values(ctx, arg, word)...)
	}
	return startingWith(word, found)
}

func (c *completer) flagNames() []string {
	var all []string
	for _, f := range c.flags() {
		name := "--" + f.Name
		if !f.IsBool() {
			name += "="
		}
		all = append(all, name+"\t"+f.Help)
	}
	return all
}

// positional is the argument that comes next, or nil.
func (c *completer) positional() *kong.Positional {
	all := c.node.Positional
	if len(all) == 0 {
		return nil
	}
	if len(c.args) < len(all) {
		return all[len(c.args)]
	}
	if last := all[len(all)-1]; last.IsCumulative() {
		return last
	}
	return nil
}

// values are those of an argument or a flag.
func (c *completer) values(ctx context.Context, v *kong.Value, word string) []string {
	switch v.Tag.Get(completeTag) {
	case "zone":
		return c.zones(ctx)
	case "policy":
		return c.policies(ctx)
	case "setting":
		return settingValues(word)
	case "file":
		return []string{completeFile}
	}
	if v.Enum != "" {
		return v.EnumSlice()
	}
	return nil
}

// zones are the names of the server's zones, without those that are on the line
// already.
func (c *completer) zones(ctx context.Context) (names []string) {
	c.atDesk(ctx, func(ctx context.Context, d *desk) { names = c.zonesOf(ctx, d) })
	return names
}

// atDesk asks the server of the command line, but not for long.
func (c *completer) atDesk(ctx context.Context, ask func(ctx context.Context, d *desk)) {
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	flags := deskFlags{AdminURL: c.adminURL}
	if flags.AdminURL == "" {
		flags.AdminURL = c.at.getenv("QUEUE_ADMIN_URL")
	}
	d, err := flags.open(c.at)
	if err != nil {
		return
	}
	defer d.Close()
	ask(ctx, d)
}

// policies are the names of the server's policies of limits.
func (c *completer) policies(ctx context.Context) (names []string) {
	c.atDesk(ctx, func(ctx context.Context, d *desk) {
		reply, err := d.Limits(ctx)
		if err != nil {
			return
		}
		for _, p := range reply.Value.Limits {
			// As for zones: nothing but a name.
			if limit.ValidName(p.Name) && !slices.Contains(c.args, p.Name) {
				names = append(names, p.Name+"\t"+ruleWords(p.Rules))
			}
		}
	})
	return names
}

func (c *completer) zonesOf(ctx context.Context, d *desk) []string {
	reply, err := d.Zones(ctx)
	if err != nil {
		return nil
	}
	var names []string
	for _, z := range reply.Value.Zones {
		// What completes a command line is run by whoever presses the next key:
		// nothing but a name may come from a server, whoever answers there.
		if zone.ValidID(z.ZoneID) && !slices.Contains(c.args, z.ZoneID) {
			names = append(names, z.ZoneID+"\t"+state(z.Mode, z.PerMinute)+", "+grouped(z.PerMinute)+" a minute")
		}
	}
	return names
}

// settingValues are the names of settings, and the values of those that have few.
func settingValues(word string) []string {
	few := map[string][]string{
		"mode":           {string(zone.ModeQueue), string(zone.ModeOpen), string(zone.ModeClosed)},
		"onStoreFailure": {string(zone.FailureHold), string(zone.FailureAdmit)},
	}
	name, _, has := strings.Cut(word, "=")
	var all []string
	for _, s := range settingsOf(zone.Settings{}) {
		switch {
		case !has:
			all = append(all, s.name+"=")
		case s.name == name:
			for _, value := range few[name] {
				all = append(all, name+"="+value)
			}
		}
	}
	return all
}

// startingWith keeps the suggestions that the word may become.
func startingWith(word string, all []string) []string {
	return slices.DeleteFunc(all, func(s string) bool {
		return s != completeFile && !strings.HasPrefix(s, word)
	})
}
