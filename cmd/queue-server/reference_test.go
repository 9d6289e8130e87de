package main

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/openqueue/waitingroom/internal/check/generated"
	"github.com/openqueue/waitingroom/internal/operate/cli"
	"github.com/openqueue/waitingroom/internal/operate/rehearse"
)

const reference = "../../docs/reference/"

// TestReferenceIsGenerated: the pages of the server's settings, of the command line and of the rehearsal are made from
// what the program itself reads.
func TestReferenceIsGenerated(t *testing.T) {
	root := &cobra.Command{Use: "queue-server"}
	root.AddCommand(serveCommand(cli.ProcessTerminal()), healthcheckCommand(cli.ProcessTerminal()), versionCommand(cli.ProcessTerminal()))
	root.AddCommand(cli.Commands(cli.ProcessTerminal(), settingNames())...)
	generated.File(t, reference+"server.md", map[string]func(string) []string{"server": settingRows})
	generated.File(t, "../../docs/integrate/clients.md", map[string]func(string) []string{"rules": ruleRows})
	generated.File(t, reference+"cli.md", map[string]func(string) []string{
		"commands": func(string) []string { return commandRows(root) },
		"flags":    func(string) []string { return flagRows(root) },
	})
}

// settingRows are the rows of the settings of the server. A secret has none of its own: that of its file names it.
func settingRows(string) []string {
	lines := []string{"| variable | flag | default | what it sets |", "| --- | --- | --- | --- |"}
	for field := range reflect.TypeFor[settings]().Fields() {
		if field.Tag.Get("help") == "" {
			continue
		}
		variable, usual := field.Tag.Get(settingTag), "none"
		if v := field.Tag.Get("default"); v != "" {
			usual = "`" + v + "`"
		}
		lines = append(lines, fmt.Sprintf("| `%s` | `--%s` | %s | %s |", variable, flagOf(variable), usual, field.Tag.Get("help")))
	}
	return lines
}

// commandRows are the rows of the commands that do something.
func commandRows(root *cobra.Command) []string {
	lines := []string{"| command | what it does |", "| --- | --- |"}
	for _, c := range runnable(root) {
		lines = append(lines, fmt.Sprintf("| `%s` | %s |",
			strings.ReplaceAll(strings.TrimSuffix(c.UseLine(), " [flags]"), "|", `\|`), c.Short))
	}
	return lines
}

// flagRows are the rows of the flags of all commands but serve, each once.
func flagRows(root *cobra.Command) []string {
	type row struct{ flag, usage string }
	var order []row
	commands := make(map[row][]string)
	for _, c := range runnable(root) {
		if c.Name() == "serve" {
			continue
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			name, usage := pflag.UnquoteUsage(f)
			flag := strings.TrimSpace("--" + f.Name + " " + name)
			if f.Shorthand != "" {
				flag = "-" + f.Shorthand + ", " + flag
			}
			r := row{flag, strings.Join(strings.Fields(usage), " ")}
			if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
				r.usage += fmt.Sprintf(" (default `%s`)", f.DefValue)
			}
			if commands[r] == nil {
				order = append(order, r)
			}
			commands[r] = append(commands[r], strings.TrimPrefix(c.CommandPath(), "queue-server "))
		})
	}
	lines := []string{"| flag | of | what it sets |", "| --- | --- | --- |"}
	for _, r := range order {
		of := strings.Join(commands[r], ", ")
		if len(commands[r]) > 6 {
			of = "every command that asks a server"
		}
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s |", r.flag, of, r.usage))
	}
	return lines
}

// runnable are the commands below root that do something, in alphabetical order.
func runnable(root *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range root.Commands() {
		all = append(all, runnable(c)...)
	}
	if root.Runnable() {
		all = append(all, root)
	}
	slices.SortFunc(all, func(a, b *cobra.Command) int { return cmp.Compare(a.CommandPath(), b.CommandPath()) })
	return all
}

// ruleRows are the rows of what the rehearsal judges.
func ruleRows(string) []string {
	lines := []string{"| rule | the client |", "| --- | --- |"}
	for _, r := range rehearse.Rules {
		lines = append(lines, fmt.Sprintf("| `%s` | %s |", r.Rule, r.Asks))
	}
	return lines
}
