package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"
)

const description = "A virtual waiting room: lets visitors in at the rate that you set, in the order in which they came."

// commands is the command line.
type commands struct {
	Serve       serveCommand       `cmd:"" default:"withargs" help:"Run the server. What queue-server does when no command is named."`
	Simulate    simulateCommand    `cmd:"" help:"Run a crowd through the room in virtual time, and print what the room did."`
	Demo        demoCommand        `cmd:"" help:"Watch a simulated crowd go through the room."`
	Zones       zonesCommand       `cmd:"" help:"Look at the zones of a running server, and change them."`
	Limits      limitsCommand      `cmd:"" help:"Look at what one client may take, and change it."`
	Stats       statsCommand       `cmd:"" help:"One zone of a running server at this moment."`
	Audit       auditCommand       `cmd:"" help:"The record of changes: when, who, what was and what is."`
	Completion  completionCommand  `cmd:"" help:"Print what makes bash, zsh or fish complete commands and names of zones."`
	Healthcheck healthcheckCommand `cmd:"" help:"Ask a server on this machine whether it is ready; exit status 0 if so."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
}

// errWriter is standard error, for kong to tell from standard output, which is
// bound as io.Writer.
type errWriter struct{ io.Writer }

// run is the whole program where nobody can be asked.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	return runIn(ctx, args, surroundings{getenv: getenv, stdout: stdout, stderr: stderr})
}

// runIn is the whole program: it returns the exit status. When ctx ends, a
// server drains.
func runIn(ctx context.Context, args []string, at surroundings) int {
	helped := false
	parser, _, src, err := newParser(at.getenv,
		kong.Writers(at.stdout, at.stderr),
		kong.Exit(func(int) { helped = true }), // after --help
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.BindTo(at.stdout, (*io.Writer)(nil)),
		kong.Bind(errWriter{at.stderr}, &at),
	)
	if err != nil {
		return complain(at.stderr, "", fmt.Errorf("command line: %w", err))
	}
	if len(args) > 0 && args[0] == completeWord {
		return complete(ctx, parser.Model.Node, args[1:], &at)
	}
	command, err := parser.Parse(args)
	switch {
	case helped:
		return exitOK
	case len(src.faults) > 0:
		return complain(at.stderr, "serve", usageError{errors.Join(src.faults...)})
	case err != nil:
		return complain(at.stderr, parsedSoFar(err), usageError{err})
	}
	if err := command.Run(); err != nil {
		return complain(at.stderr, pathOf(command.Selected()), err)
	}
	return exitOK
}

// newParser returns the parser of the command line, what it parses into, and
// the other sources of settings.
func newParser(getenv func(string) string, options ...kong.Option) (*kong.Kong, *commands, *sources, error) {
	var c commands
	src := newSources(getenv)
	parser, err := kong.New(&c, append([]kong.Option{
		kong.Name("queue-server"),
		kong.Description(description),
		kong.ValueFormatter(helpWithEnv),
		kong.WithBeforeResolve(src.readFile),
		kong.Resolvers(src),
		kong.Bind(src),
	}, options...)...)
	if err == nil {
		src.keys = fileKeys(parser.Model.Node)
	}
	return parser, &c, src, err
}

// helpWithEnv names the environment variable of a setting in its help.
func helpWithEnv(v *kong.Value) string {
	if env := cmp.Or(v.Tag.Get(settingTag), v.Tag.Get(variableTag)); env != "" {
		return v.Help + " ($" + env + ")"
	}
	return v.Help
}
