package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"
)

// Exit statuses: see the command's documentation.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

const description = "A virtual waiting room: lets visitors in at the rate that you set, in the order in which they came."

// commands is the command line.
type commands struct {
	Serve       serveCommand       `cmd:"" default:"withargs" help:"Run the server. What queue-server does when no command is named."`
	Simulate    simulateCommand    `cmd:"" help:"Run a crowd through the room in virtual time, and print what the room did."`
	Demo        demoCommand        `cmd:"" help:"Watch a simulated crowd go through the room."`
	Healthcheck healthcheckCommand `cmd:"" help:"Ask a server on this machine whether it is ready; exit status 0 if so."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
}

// errWriter is standard error, for kong to tell from standard output, which is
// bound as io.Writer.
type errWriter struct{ io.Writer }

// usageError is wrapped by errors of settings that only checking can find.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run is the whole program: it returns the exit status. When ctx ends, a
// server drains.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	helped := false
	parser, _, src, err := newParser(getenv,
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { helped = true }), // after --help
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.BindTo(stdout, (*io.Writer)(nil)),
		kong.Bind(errWriter{stderr}),
	)
	if err != nil {
		return complain(stderr, fmt.Errorf("command line: %w", err))
	}
	command, err := parser.Parse(args)
	switch {
	case helped:
		return exitOK
	case len(src.faults) > 0:
		return complain(stderr, usageError{errors.Join(src.faults...)})
	case err != nil:
		return complain(stderr, usageError{err})
	}
	if err := command.Run(); err != nil {
		return complain(stderr, err)
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
	return parser, &c, src, err
}

// complain prints err for people, one fault a line, and returns the exit status.
func complain(stderr io.Writer, err error) int {
	_, _ = fmt.Fprintf(stderr, "queue-server: %v\n", err)
	if _, ok := errors.AsType[usageError](err); ok {
		_, _ = fmt.Fprintln(stderr, "Nothing was started. All settings are listed by: queue-server serve --help")
		return exitUsage
	}
	return exitFailed
}

// helpWithEnv names the environment variable of a setting in its help.
func helpWithEnv(v *kong.Value) string {
	if env := v.Tag.Get(settingTag); env != "" {
		return v.Help + " ($" + env + ")"
	}
	return v.Help
}
