package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/rehearse"
	"github.com/openqueue/waitingroom/internal/serve/strictyaml"
)

// Exit statuses. Scripts compare them, so none changes its meaning.
const (
	ExitOK = 0
	// ExitFailed: something went wrong on the way; or somebody who was asked
	// said no.
	ExitFailed = 1
	// ExitUsage: the command line, a setting, a file or a value in it is wrong.
	// Nothing was begun, nothing changed.
	ExitUsage = 2
	// ExitNotFound: there is no such zone or draw.
	ExitNotFound = 3
	// ExitRefused: the operators' token is wrong.
	ExitRefused = 4
	// ExitUnreachable: no server answers there, or its store is away. Whether a
	// change was made is not known; the command can be repeated.
	ExitUnreachable = 5
	// ExitConflict: the zone is there already, or others changed it meanwhile.
	// Nothing was changed.
	ExitConflict = 6
	// ExitDiffers: zones apply --check found differences, or events verify a list that is
	// not as drawn.
	ExitDiffers = 7
)

// errDiffers is what zones apply --check returns when it has printed
// differences; there is nothing more to say.
var errDiffers = errors.New("the settings differ from the file")

// UsageError is wrapped by the errors of a command line, or of settings, that only
// checking can find.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e UsageError) Unwrap() error { return e.Err }

// Usage returns a UsageError with this sentence.
func Usage(format string, a ...any) error { return UsageError{fmt.Errorf(format, a...)} }

// statusOf returns the exit status for an error of a command.
func statusOf(err error) int {
	if _, ok := errors.AsType[UsageError](err); ok {
		return ExitUsage
	}
	for _, row := range []struct {
		err    error
		status int
	}{
		{adminclient.ErrInvalid, ExitUsage},
		{adminclient.ErrNotFound, ExitNotFound},
		{adminclient.ErrUnauthorized, ExitRefused},
		{adminclient.ErrForbidden, ExitRefused},
		{adminclient.ErrUnreachable, ExitUnreachable},
		{adminclient.ErrUnavailable, ExitUnreachable},
		{adminclient.ErrConflict, ExitConflict},
		{errDiffers, ExitDiffers},
		{errForged, ExitDiffers},
		{errNotHeld, ExitDiffers},
		{rehearse.ErrNobody, ExitUsage},
	} {
		if errors.Is(err, row.err) {
			return row.status
		}
	}
	return ExitFailed
}

// Execute runs a command line of the program that root is, and returns the exit
// status.
func Execute(ctx context.Context, root *cobra.Command, args []string, t *Terminal) int {
	root.SetArgs(args)
	root.SetOut(t.Stdout)
	root.SetErr(t.Stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	begun := false
	prepare(root, &begun)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	if !begun { // it is cobra's, of the command line
		err = UsageError{err}
	}
	return complain(t, command, err)
}

// prepare has every command note that it has begun, and keep its flags in their order.
// One that is only there for those below it asks for one of them.
func prepare(command *cobra.Command, begun *bool) {
	command.Flags().SortFlags = false
	for _, c := range command.Commands() {
		prepare(c, begun)
	}
	if run := command.RunE; run != nil {
		command.RunE = func(c *cobra.Command, args []string) error {
			*begun = true
			return run(c, args)
		}
	} else if command.Run == nil {
		command.Args = cobra.ArbitraryArgs
		command.RunE = func(c *cobra.Command, args []string) error {
			var names []string
			for _, child := range c.Commands() {
				names = append(names, child.Name())
			}
			if len(args) == 0 {
				return fmt.Errorf("which command? There are %s", strings.Join(names, ", "))
			}
			return fmt.Errorf("unknown command %q; %s", args[0], strictyaml.Suggest(args[0], names))
		}
	}
}

// flagError says what is wrong with a flag, without what was given to it: that may be
// a secret.
func flagError(_ *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Errorf("--%s: %w", invalid.GetFlag().Name, invalid.Unwrap())
	}
	return err
}

// complain prints what went wrong with a command, for people, and returns the exit
// status.
func complain(t *Terminal, command *cobra.Command, err error) int {
	status := statusOf(err)
	if status == ExitDiffers {
		return status
	}
	_, _ = fmt.Fprintf(t.Stderr, "%s: %s\n", command.Root().Name(), harmless(err.Error(), "\n\t"))
	if _, ok := errors.AsType[UsageError](err); !ok {
		return status
	}
	if command == command.Root() || command.Name() == "serve" {
		_, _ = fmt.Fprintf(t.Stderr, "Nothing was started. All settings are listed by: %s serve --help\n", command.Root().Name())
	} else {
		_, _ = fmt.Fprintf(t.Stderr, "Nothing was done. How it is used: %s --help\n", command.CommandPath())
	}
	return status
}
