package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
)

// Exit statuses. Scripts compare them, so none changes its meaning.
const (
	exitOK = 0
	// exitFailed: something went wrong on the way; or somebody who was asked
	// said no.
	exitFailed = 1
	// exitUsage: the command line, a setting, a file or a value in it is wrong.
	// Nothing was begun, nothing changed.
	exitUsage = 2
	// exitNotFound: there is no such zone.
	exitNotFound = 3
	// exitRefused: the operators' token is wrong.
	exitRefused = 4
	// exitUnreachable: no server answers there, or its store is away. Whether a
	// change was made is not known; the command can be repeated.
	exitUnreachable = 5
	// exitConflict: the zone is there already, or others changed it meanwhile.
	// Nothing was changed.
	exitConflict = 6
	// exitDiffers: zones apply --check found differences.
	exitDiffers = 7
)

// errDiffers is what zones apply --check returns when it has printed
// differences; there is nothing more to say.
var errDiffers = errors.New("the settings differ from the file")

// usageError is wrapped by errors of settings that only checking can find.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usage returns a usageError with this sentence.
func usage(format string, a ...any) error { return usageError{fmt.Errorf(format, a...)} }

// statusOf returns the exit status for an error of a command.
func statusOf(err error) int {
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	for _, row := range []struct {
		err    error
		status int
	}{
		{adminclient.ErrInvalid, exitUsage},
		{adminclient.ErrNotFound, exitNotFound},
		{adminclient.ErrUnauthorized, exitRefused},
		{adminclient.ErrUnreachable, exitUnreachable},
		{adminclient.ErrUnavailable, exitUnreachable},
		{adminclient.ErrConflict, exitConflict},
		{errDiffers, exitDiffers},
	} {
		if errors.Is(err, row.err) {
			return row.status
		}
	}
	return exitFailed
}

// complain prints err for people, one fault a line, and returns the exit
// status. command is what was asked, without the name of the program: "zones set".
func complain(stderr io.Writer, command string, err error) int {
	status := statusOf(err)
	if status == exitDiffers {
		return status
	}
	_, _ = fmt.Fprintf(stderr, "queue-server: %s\n", harmless(err.Error(), "\n\t"))
	if _, ok := errors.AsType[usageError](err); !ok {
		return status
	}
	switch command {
	case "serve", "":
		_, _ = fmt.Fprintln(stderr, "Nothing was started. All settings are listed by: queue-server serve --help")
	default:
		_, _ = fmt.Fprintf(stderr, "Nothing was done. How it is used: queue-server %s --help\n", command)
	}
	return status
}

// pathOf returns how a command is called, without the name of the program and
// its arguments.
func pathOf(node *kong.Node) string {
	var names []string
	for ; node != nil && node.Type == kong.CommandNode; node = node.Parent {
		names = append([]string{node.Name}, names...)
	}
	return strings.Join(names, " ")
}

// parsedSoFar returns the command that a command line names which cannot be
// parsed: as much of it as there is.
func parsedSoFar(err error) string {
	parse, ok := errors.AsType[*kong.ParseError](err)
	if !ok || parse.Context == nil {
		return ""
	}
	node := (*kong.Node)(nil)
	for _, p := range parse.Context.Path {
		if p.Command != nil {
			node = p.Command
		}
	}
	return pathOf(node)
}
