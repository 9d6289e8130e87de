package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/openqueue/waitingroom/internal/operate/cli"
)

// TestScripts runs each script of testdata/script: the command line as operators type it, and what it prints.
//
// A script with a file server.yaml has a server with that configuration, whose operator is anna. server.env has further variables of
// the server, one a line. In files that end in .yaml, ${IN_90M} is the time in 90 minutes, and ${AGO_1H} was an hour ago. Besides the commands
// of testscript there are:
//
//	queue-server ARGS        a command that must succeed. A file of the script is named as it stands there
//	exits N COMMAND          a command that must end with that exit status
//	answering TEXT COMMAND   the command runs on a terminal, and an operator types the lines of TEXT
//	piping FILE COMMAND      the command reads FILE as its standard input
//	until REGEXP COMMAND     the command is repeated until its output matches
//	http METHOD PATH [BODY]  asks the server's public listener, or the operators' for a path below /admin
//
// UPDATE_SCRIPTS=1 go test ./cmd/queue-server -run TestScripts writes what is printed into the files that cmp compares.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	must(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			s := &script{t: t}
			testscript.Run(t, testscript.Params{
				Files: []string{file}, Setup: s.setup, UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "", ContinueOnError: true,
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"queue-server": s.command("queue-server"), "exits": s.command("exits"), "answering": s.command("answering"),
					"piping": s.command("piping"), "until": s.command("until"), "http": s.http,
				},
			})
		})
	}
}

// script is a script that runs, and its server.
type script struct {
	t *testing.T
	*server
}

// relative is a time in a script, from the start of the script on.
var relative = regexp.MustCompile(`\$\{(IN|AGO)_(\w+)\}`)

func (s *script) setup(env *testscript.Env) error {
	begun := time.Now()
	expand := func(text string) string {
		return relative.ReplaceAllStringFunc(text, func(m string) string {
			parts := relative.FindStringSubmatch(m)
			d, err := time.ParseDuration(strings.ToLower(parts[2]))
			must(s.t, err)
			if parts[1] == "AGO" {
				d = -d
			}
			return begun.Add(d).UTC().Format(time.RFC3339)
		})
	}
	files, err := filepath.Glob(filepath.Join(env.WorkDir, "*.yaml"))
	must(s.t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(s.t, err)
		must(s.t, os.WriteFile(file, []byte(expand(string(text))), 0o600))
	}
	env.Setenv("USER", "anna")
	env.Setenv("NL", "\n")
	for _, name := range []string{"IN_1M", "IN_1H", "IN_90M", "IN_2H", "IN_4H", "IN_8H", "IN_9H", "AGO_1M", "AGO_1H"} {
		env.Setenv(name, expand("${"+name+"}"))
	}
	config := filepath.Join(env.WorkDir, "server.yaml")
	if _, err := os.Stat(config); os.IsNotExist(err) {
		return nil
	}
	of := map[string]string{"QUEUE_CONFIG": config}
	more, _ := os.ReadFile(filepath.Join(env.WorkDir, "server.env"))
	for row := range strings.Lines(string(more)) {
		name, value, _ := strings.Cut(strings.TrimSpace(row), "=")
		of[name] = value
	}
	s.server = start(s.t, of)
	env.Setenv("QUEUE_ADMIN_URL", s.operators)
	env.Setenv("QUEUE_ADMIN_TOKEN", operatorToken)
	env.Setenv("PUBLIC_URL", s.public)
	return nil
}

// command runs the words of a line that begins with a name.
func (s *script) command(name string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg {
			ts.Fatalf("say with which status it ends: exits N %s", name)
		}
		s.run(ts, append([]string{name}, args...))
	}
}

func (s *script) run(ts *testscript.TestScript, words []string) {
	want, again := cli.ExitOK, (*regexp.Regexp)(nil)
	terminal := cli.Terminal{Getenv: ts.Getenv}
	var stdin string
	for words[0] != "queue-server" {
		var err error
		switch value := words[1]; words[0] {
		case "exits":
			want, err = strconv.Atoi(value)
		case "answering":
			stdin, terminal.Interactive = value+"\n", true
		case "piping":
			stdin = ts.ReadFile(value)
		case "until":
			again, err = regexp.Compile(value)
		default:
			err = fmt.Errorf("%q is no command", words[0])
		}
		ts.Check(err)
		words = words[2:]
	}
	args := append([]string(nil), words[1:]...)
	for i, word := range args {
		flag, file, is := strings.Cut(word, "=")
		if !is || !strings.HasPrefix(flag, "--") {
			flag, file = "", word
		} else {
			flag += "="
		}
		if path := ts.MkAbs(file); filepath.Ext(file) != "" && isFile(path) {
			args[i] = flag + path
		}
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(patience); ; <-tick.C {
		var out, errOut bytes.Buffer
		terminal.Stdin, terminal.Stdout, terminal.Stderr = strings.NewReader(stdin), &out, &errOut
		status := run(s.t.Context(), args, &terminal)
		if again != nil && !again.Match(out.Bytes()) && time.Now().Before(late) {
			continue
		}
		// A machine under load may write more slowly than the server waits for its disk.
		said := strings.ReplaceAll(errOut.String(), "Warning: the change is in force on this server, but not kept: the disk does not answer\n", "")
		_, _ = ts.Stdout().Write(out.Bytes())
		_, _ = ts.Stderr().Write([]byte(said))
		if status != want || again != nil && !again.Match(out.Bytes()) {
			ts.Fatalf("status %d, want %d\n%s%s", status, want, out.String(), said)
		}
		return
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (s *script) http(ts *testscript.TestScript, neg bool, args []string) {
	at, body, header := s.public, "", []string{"Sec-Fetch-Mode", "navigate", "X-Forwarded-Uri", "/cart", "X-Forwarded-For", "203.0.113.9"}
	switch {
	case strings.HasPrefix(args[1], "/admin/"):
		at, header = s.operators, []string{"Authorization", "Bearer " + operatorToken}
	case strings.HasPrefix(args[1], "/site/"):
		at = s.site
	default:
		header = nil
	}
	if len(args) > 2 {
		body = args[2]
	}
	got := request(s.t, args[0], at+args[1], body, header...)
	_, _ = ts.Stdout().Write([]byte(strings.TrimSpace(got.body) + "\n"))
	if failed := got.status >= http.StatusBadRequest; failed != neg {
		ts.Fatalf("%d %s", got.status, got.body)
	}
}
