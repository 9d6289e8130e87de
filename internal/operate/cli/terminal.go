package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// surroundings are where a command runs: what it can read, and whom it can ask.
type surroundings struct {
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	// person tells that somebody sits there who sees what is printed to stderr,
	// and can be asked.
	person bool
	// screen returns the size of the terminal that stdout is; nil, or ok false,
	// where it is none, such as a pipe or a file.
	screen func() (columns, rows int, ok bool)
	// answers are the lines of stdin, from the first question on.
	answers *bufio.Reader
}

// here are the surroundings of this process.
func here() surroundings {
	isTerminal := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	return surroundings{
		getenv: os.Getenv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		person: isTerminal(os.Stdin) && isTerminal(os.Stderr),
		screen: func() (columns, rows int, ok bool) {
			columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
			return columns, rows, err == nil && columns > 0
		},
	}
}

// size returns the size of the terminal, ok false where stdout is none.
func (at *surroundings) size() (columns, rows int, ok bool) {
	if at.screen == nil {
		return 0, 0, false
	}
	return at.screen()
}

// columns returns how wide the terminal is, or 0 where lines may be of any length.
func (at *surroundings) columns() int {
	columns, _, _ := at.size()
	return columns
}

// errNobody: a question was to be asked, and nobody is there.
var errNobody = errors.New("there is nobody to ask")

// ask prints a question and returns the answer, a line without the white space
// around it. It returns errNobody where nobody can answer, and ctx's error when
// that ends first.
func (at *surroundings) ask(ctx context.Context, format string, a ...any) (string, error) {
	if !at.person || at.stdin == nil {
		return "", errNobody
	}
	_, _ = fmt.Fprintf(at.stderr, format, a...)
	if at.answers == nil {
		at.answers = bufio.NewReader(at.stdin)
	}
	type line struct {
		text string
		err  error
	}
	answer := make(chan line, 1)
	go func() { // it ends with the process, if nobody answers
		text, err := at.answers.ReadString('\n')
		answer <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		_, _ = fmt.Fprintln(at.stderr)
		return "", ctx.Err()
	case got := <-answer:
		if got.err != nil && got.text == "" {
			_, _ = fmt.Fprintln(at.stderr)
			return "", errNobody
		}
		return strings.TrimSpace(got.text), nil
	}
}
