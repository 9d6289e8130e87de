package cli

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

// Terminal is where a command runs: what it can read, and whom it can ask.
type Terminal struct {
	Getenv         func(string) string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Interactive tells that somebody sits there who sees what is printed to Stderr,
	// and can be asked.
	Interactive bool
	// Screen tells that Stdout is a terminal, rather than a pipe or a file.
	Screen bool
	// Version is the program's. Signer returns the secrets of a server with these settings, and what signs a JWT of a type with claims as that
	// server signs passes.
	Version string
	Signer  func() (secrets [][]byte, sign func(typ string, claims any) (string, error), err error)
	// answers are the lines of Stdin, from the first question on.
	answers *bufio.Reader
}

// ProcessTerminal is the terminal of this process.
func ProcessTerminal() *Terminal {
	isTerminal := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	return &Terminal{
		Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Interactive: isTerminal(os.Stdin) && isTerminal(os.Stderr), Screen: isTerminal(os.Stdout),
	}
}

// say prints a sentence for people.
func (t *Terminal) say(format string, a ...any) { _, _ = fmt.Fprintf(t.Stdout, format+"\n", a...) }

// print prints a table.
func (t *Terminal) print(rows *table) error {
	_, err := io.WriteString(t.Stdout, strings.Join(rows.lines(), "\n")+"\n")
	return err
}

// readFile reads a file, or Stdin where it is named "-".
func (t *Terminal) readFile(path string) ([]byte, error) {
	switch {
	case path != "-":
		return os.ReadFile(path)
	case t.Stdin == nil:
		return nil, nil
	}
	return io.ReadAll(t.Stdin)
}

// errNobody: a question was to be asked, and nobody is there.
var errNobody = errors.New("no terminal to ask at")

// ask prints a question and returns the answer, a line without the white space
// around it. It returns errNobody where nobody can answer, and ctx's error when
// that ends first.
func (t *Terminal) ask(ctx context.Context, format string, a ...any) (string, error) {
	if !t.Interactive || t.Stdin == nil {
		return "", errNobody
	}
	_, _ = fmt.Fprintf(t.Stderr, format, a...)
	if t.answers == nil {
		t.answers = bufio.NewReader(t.Stdin)
	}
	answer := make(chan string, 1)
	go func() { // it ends with the process, if nobody answers
		text, err := t.answers.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			text = "" // half an answer is none
		}
		answer <- text
	}()
	select {
	case <-ctx.Done():
		_, _ = fmt.Fprintln(t.Stderr)
		return "", ctx.Err()
	case text := <-answer:
		if text == "" {
			_, _ = fmt.Fprintln(t.Stderr)
			return "", errNobody
		}
		return strings.TrimSpace(text), nil
	}
}

// errNotConfirmed: who was asked did not say yes.
var errNotConfirmed = errors.New("not confirmed; nothing was changed")

// confirm asks, and returns an error unless want was answered. instead says what to do
// where nobody can be asked.
func (t *Terminal) confirm(ctx context.Context, want, instead, format string, a ...any) error {
	typed, err := t.ask(ctx, format, a...)
	switch {
	case errors.Is(err, errNobody):
		return Usage("%w: say --yes to %s", err, instead)
	case err != nil:
		return err
	case typed != want:
		return errNotConfirmed
	}
	return nil
}
