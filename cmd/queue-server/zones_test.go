package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/operate/cli"
)

// twoZones are what most of these tests begin with.
const twoZones = `zones:
  - zoneId: TICKETS
    perMinute: 600
    burst: 5
  - zoneId: TEST_ZONE
    perMinute: 10
    mode: closed
    maxWaiting: 200000
    onStoreFailure: admit
`

// clerk is an operator who types commands.
type clerk struct {
	*server
	env map[string]string
}

// newClerk starts a server with twoZones and seats an operator before it.
func newClerk(t *testing.T) clerk {
	t.Helper()
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, twoZones)})
	return clerk{s, map[string]string{
		"QUEUE_ADMIN_URL": s.operators, "QUEUE_ADMIN_TOKEN": operatorToken, "USER": "anna",
	}}
}

// types runs a command where nobody can be asked.
func (c clerk) types(t *testing.T, args ...string) outcome {
	t.Helper()
	return runToEnd(t, c.env, args...)
}

// answers runs a command on a terminal, and answers what it asks.
func (c clerk) answers(t *testing.T, answers string, args ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	status := run(t.Context(), args, &cli.Terminal{
		Getenv: environ(c.env), Stdin: strings.NewReader(answers), Stdout: &out, Stderr: &errOut, Interactive: true,
	})
	return outcome{status, out.String(), errOut.String()}
}

// wants compares all that a command leaves.
func wants(t *testing.T, name string, got outcome, status int, out, errOut string) {
	t.Helper()
	// A machine under load may write more slowly than the server waits for its disk.
	got.errOut = strings.ReplaceAll(got.errOut, "Warning: the change is in force on this server, but not kept: the disk does not answer\n", "")
	if got.status != status || got.out != out || got.errOut != errOut {
		t.Errorf("%s: status %d, want %d\n--- stdout\n%s--- want\n%s--- stderr\n%s--- want\n%s",
			name, got.status, status, got.out, out, got.errOut, errOut)
	}
}

// says wants a status, and that stdout and stderr together hold each text.
func says(t *testing.T, name string, got outcome, status int, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(got.out+got.errOut, text) {
			t.Errorf("%s: does not say %q", name, text)
			status = -1
		}
	}
	if got.status != status {
		t.Errorf("%s: status %d, want %d\n--- stdout\n%s--- stderr\n%s", name, got.status, status, got.out, got.errOut)
	}
}

func TestZonesListAndGet(t *testing.T) {
	c := newClerk(t)
	wants(t, "list", c.types(t, "zones", "list"), cli.ExitOK, `
ZONE       STATE   PER MINUTE  WINDOW  BURST  IDLE   PASS   MAX WAITING  OUTAGE
TEST_ZONE  closed  10          6 s     0      1 min  5 min  200,000      admit
TICKETS    queue   600         6 s     5      1 min  5 min  -            hold
`[1:], "")
	says(t, "get", c.types(t, "zones", "get", "TICKETS"), cli.ExitOK, `
SETTING                 VALUE    MEANS
perMinute               600      How many may enter in any 60 s. 0 holds everybody.
mode                    queue    admit at the limit, line up the rest
windowSeconds           6        Seconds over which admissions are spread, 1 to 60.
`[1:], "\npageTitle                        Stands above the waiting page", "\nevents                  none     Sales that have a time")
	for _, tt := range []struct{ path, command string }{
		{"/admin/zones", "zones list"}, {"/admin/zones/TICKETS", "zones get TICKETS"}, {"/admin/audit", "audit --limit 100"},
	} {
		got := c.types(t, append(strings.Fields(tt.command), "--json")...)
		wants(t, tt.command, got, cli.ExitOK, c.admin(t, "GET", tt.path, "").body, "")
	}
}

// TestZonesChangeTexts: what a person types in several languages is set, shown in a line, and can be undone as it says.
func TestZonesChangeTexts(t *testing.T) {
	c := newClerk(t)
	for _, step := range [][2]string{{"message=Soon.\nde: Gleich.", `
TICKETS is changed:
  message none -> Soon. / de: Gleich.
Each visitor who waits sees the message with the next poll, most within 20 s.
To undo: queue-server zones set TICKETS message=
`}, {"message=", `
TICKETS is changed:
  message Soon. / de: Gleich. -> none
The message disappears from each page with the next poll, from most within 20 s.
To undo: queue-server zones set TICKETS 'message=Soon.
de: Gleich.'
`}} {
		wants(t, step[0], c.types(t, "zones", "set", "TICKETS", step[0]), cli.ExitOK, step[1][1:], "")
	}
}

func TestZonesChange(t *testing.T) {
	c := newClerk(t)
	steps := []struct{ command, out string }{
		{"zones set TICKETS perMinute=1,200 windowSeconds=2", `
TICKETS is changed:
  perMinute 600 -> 1200
  windowSeconds 6 -> 2
WARNING: That is 2.0 times as many as now. Be sure that the protected service can take it.
At most 40 enter in any 2 s.
While there is a line, at most 25 enter in any second.
To undo: queue-server zones set TICKETS perMinute=600 windowSeconds=6
`},
		{"zones set TICKETS perMinute=1200", "\nTICKETS: nothing to change. People are admitted at the limit.\n"},
		{"zones pause TICKETS", `
TICKETS is changed:
  perMinute 1200 -> 0
Nobody is admitted. Visitors who wait (0) keep their places, and newcomers still get places.
Visitors who were admitted before stay in.
To undo: queue-server zones set TICKETS perMinute=1200
`},
		{"zones pause TICKETS", "\nTICKETS: nothing to change. Nobody is admitted. Visitors who wait keep their places.\n"},
		{"zones resume TICKETS", `
TICKETS is changed:
  perMinute 0 -> 1200
At most 40 enter in any 2 s.
While there is a line, at most 25 enter in any second.
To undo: queue-server zones set TICKETS perMinute=0
`},
		{"zones resume TICKETS", "\nTICKETS: nothing to change. People are admitted at the limit.\n"},
		{"zones set TICKETS perMinute=900", `
TICKETS is changed:
  perMinute 1200 -> 900
Admissions of the last 60 s count: nobody enters until they are fewer than the new limit.
At most 30 enter in any 2 s.
While there is a line, at most 19 enter in any second.
To undo: queue-server zones set TICKETS perMinute=1200
`},
		{"zones open TICKETS", `
TICKETS is changed:
  mode queue -> open
WARNING: All visitors are admitted at once, without the limit. The protected service gets all of them.
To undo: queue-server zones set TICKETS mode=queue
`},
		{"zones pause TICKETS", `
TICKETS is changed:
  perMinute 900 -> 0
WARNING: A limit of 0 holds nobody while the mode is open. Set the mode to queue.
To undo: queue-server zones set TICKETS perMinute=900
`},
		{"zones close TICKETS", `
TICKETS is changed:
  mode open -> closed
Newcomers are refused. Visitors who wait keep their places. The limit is 0, so nobody is admitted.
To undo: queue-server zones set TICKETS mode=open
`},
		{"zones create NEW perMinute=0 mode=queue", "\nNEW is made. Nobody is admitted. Visitors who wait keep their places.\n"},
		{"zones delete NEW --yes", "\nNEW is deleted. To have one with its settings again:\n  queue-server zones create NEW perMinute=0\n"},
	}
	for _, step := range steps {
		wants(t, step.command, c.types(t, strings.Fields(step.command)...), cli.ExitOK, step.out[1:], "")
	}
	when := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	got := c.types(t, "audit", "--limit=7")
	got.out = when.ReplaceAllString(got.out, "2026-11-21T11:59:00Z")
	wants(t, "audit", got, cli.ExitOK, `
NAME     WHEN                  WHO   CHANGE
NEW      2026-11-21T11:59:00Z  anna  deleted
NEW      2026-11-21T11:59:00Z  anna  made with perMinute 0
TICKETS  2026-11-21T11:59:00Z  anna  mode open -> closed
TICKETS  2026-11-21T11:59:00Z  anna  perMinute 900 -> 0
TICKETS  2026-11-21T11:59:00Z  anna  mode queue -> open
TICKETS  2026-11-21T11:59:00Z  anna  perMinute 1200 -> 900
TICKETS  2026-11-21T11:59:00Z  anna  perMinute 0 -> 1200
`[1:], "")
	c.types(t, "zones", "set", "TEST_ZONE", "burst=1", "--as", "Zoë")
	says(t, "audit of a zone", c.types(t, "audit", "TEST_ZONE"), cli.ExitOK, "Zoë ", "burst 0 -> 1", "made with perMinute 10, mode closed")
	if got := c.types(t, "zones", "set", "TEST_ZONE", "burst=2", "--json"); got.status != cli.ExitOK ||
		got.out != c.admin(t, "GET", "/admin/zones/TEST_ZONE", "").body {
		t.Errorf("set --json: %+v", got)
	}
}

// A zone that was made paused has no limit to resume to, nor has one whose
// namesake had one.
func TestResumeWithoutARecord(t *testing.T) {
	c := newClerk(t)
	c.types(t, "zones", "delete", "TICKETS", "--yes")
	c.types(t, "zones", "create", "TICKETS", "perMinute=0")
	wants(t, "resume", c.types(t, "zones", "resume", "TICKETS"), cli.ExitUsage, "",
		"queue-server: the record of changes does not say what TICKETS admitted before; say it: queue-server zones set TICKETS perMinute=N\n"+
			"Nothing was done. How it is used: queue-server zones resume --help\n")
}

func TestStatsCommand(t *testing.T) {
	c := newClerk(t)
	for range 62 {
		request(t, http.MethodPost, c.public+"/traffic/wait", `{"zoneId":"TICKETS"}`)
	}
	got := c.types(t, "stats", "TICKETS")
	for _, want := range []string{
		"TICKETS: queue\n\nIn the line\n  waiting ", "\nAdmitted\n", "  in this window", "of 60, 100 % in use", "of 600\n",
		"\nSince the zone's data began\n  joined  62\n", "  swept  0\n",
	} {
		if !strings.Contains(regexp.MustCompile(` {2,}`).ReplaceAllString(got.out, "  "), want) {
			t.Errorf("does not say %q:\n%s", want, got.out)
		}
	}
	var stats struct {
		ZoneID string `json:"zoneId"`
		Totals struct {
			Joined int `json:"joined"`
		} `json:"totals"`
	}
	got = c.types(t, "stats", "TICKETS", "--json")
	if err := json.Unmarshal([]byte(got.out), &stats); err != nil || stats.ZoneID != "TICKETS" || stats.Totals.Joined != 62 {
		t.Errorf("%v: %+v", err, got)
	}
}

func TestDeleteAsksForTheName(t *testing.T) {
	c := newClerk(t)
	question := "Delete TICKETS?\nWARNING: 0 waiting. All lose their places, and each later join is refused.\nThis cannot be undone. The record of changes stays.\nType its name to delete it: "
	for _, answer := range []string{"yes\n", "tickets\n", "\n"} {
		wants(t, answer, c.answers(t, answer, "zones", "delete", "TICKETS"), cli.ExitFailed, "",
			question+"queue-server: not confirmed; nothing was changed\n")
	}
	nobody := "queue-server: no terminal to ask at: say --yes to delete TICKETS\n" +
		"Nothing was done. How it is used: queue-server zones delete --help\n"
	wants(t, "in a script", c.types(t, "zones", "delete", "TICKETS"), cli.ExitUsage, "", nobody)
	wants(t, "end of input", c.answers(t, "", "zones", "delete", "TICKETS"), cli.ExitUsage, "", question+"\n"+nobody)
	says(t, "the name", c.answers(t, "TICKETS\n", "zones", "delete", "TICKETS"), cli.ExitOK, "TICKETS is deleted")
	wants(t, "JSON", c.types(t, "zones", "delete", "TEST_ZONE", "--yes", "--json"), cli.ExitOK, `{"deleted":true,"name":"TEST_ZONE"}`+"\n", "")
	says(t, "none left", c.types(t, "zones", "list"), cli.ExitOK, "There are no zones yet. To make one:")
}

// TestQuestionEndsWithTheCommand: a signal ends a question.
func TestQuestionEndsWithTheCommand(t *testing.T) {
	c := newClerk(t)
	ctx, cancel := context.WithCancel(t.Context())
	typed, keyboard := io.Pipe()
	defer func() { _ = keyboard.Close() }()
	asked := &asking{then: cancel}
	status := run(ctx, []string{"zones", "delete", "TICKETS"}, &cli.Terminal{
		Getenv: environ(c.env), Stdin: typed, Stdout: io.Discard, Stderr: asked, Interactive: true,
	})
	if status != cli.ExitFailed || c.admin(t, "GET", "/admin/zones/TICKETS", "").status != http.StatusOK {
		t.Errorf("status %d; %s", status, asked.text.String())
	}
}

// asking does something when it is asked a question.
type asking struct {
	text bytes.Buffer
	then func()
}

func (a *asking) Write(p []byte) (int, error) {
	a.text.Write(p)
	if strings.HasSuffix(a.text.String(), ": ") {
		a.then()
	}
	return len(p), nil
}

func TestExitStatuses(t *testing.T) {
	c := newClerk(t)
	with := func(name, value string) map[string]string {
		env := maps.Clone(c.env)
		env[name] = value
		return env
	}
	elsewhere := with("QUEUE_ADMIN_URL", "http://127.0.0.1:1")
	tests := []struct {
		command string
		env     map[string]string
		status  int
		says    string
	}{
		{"zones list", nil, cli.ExitOK, "TICKETS"},
		{"zones", nil, cli.ExitUsage, "queue-server zones --help"},
		{"zones lst", nil, cli.ExitUsage, `unknown command "lst"; did you mean "list"?`},
		{"zones set TICKETS", nil, cli.ExitUsage, "queue-server zones set --help"},
		{"zones pause", nil, cli.ExitUsage, "0 arguments were given; it takes ZONE"},
		{"zones set TICKETS perminute=5", nil, cli.ExitUsage, `"perminute" is no setting; did you mean "perMinute"?`},
		{"zones set TICKETS perMinute", nil, cli.ExitUsage, "perMinute: give it a value: perMinute=..."},
		{"zones set TICKETS 600", nil, cli.ExitUsage, `"600" is no setting; write name=value`},
		{"zones set TICKETS burst=1 burst=2", nil, cli.ExitUsage, "burst is given twice"},
		{"zones set TICKETS perMinute=many", nil, cli.ExitUsage, `perMinute is "many", must be a whole number`},
		{"zones set TICKETS perMinute=-1 mode=shut", nil, cli.ExitUsage, `perMinute is -1, must be between 0 and 6000000; mode "shut" must be queue, open or closed`},
		{"zones create a/b", nil, cli.ExitUsage, `"a/b" cannot be the name of a zone`},
		{"audit --limit=0", nil, cli.ExitUsage, "--limit is 0, must be 1 or more"},
		{"zones apply", nil, cli.ExitUsage, `required flag(s) "file" not set`},
		{"zones apply -f /there/is/none.yaml", nil, cli.ExitUsage, "the zones cannot be read: open /there/is/none.yaml"},
		{"zones list", with("QUEUE_ADMIN_URL", "localhost:8081"), cli.ExitUsage, "must look like http://127.0.0.1:8081"},
		{"zones list", with("QUEUE_ADMIN_TOKEN", "short"), cli.ExitUsage, "QUEUE_ADMIN_TOKEN: secret: unusable: it has 5 characters"},
		{"zones list --as=" + strings.Repeat("x", 65), nil, cli.ExitUsage, "the operator's name must not be longer than 64 bytes"},
		{"zones get TIKETS", nil, cli.ExitNotFound, "there is no zone TIKETS; all are listed by: queue-server zones list"},
		{"zones set OTHER burst=1", nil, cli.ExitNotFound, "there is no zone OTHER"},
		{"zones pause OTHER", nil, cli.ExitNotFound, "there is no zone OTHER"},
		{"zones delete OTHER --yes", nil, cli.ExitNotFound, "there is no zone OTHER"},
		{"zones watch OTHER", nil, cli.ExitNotFound, "there is no zone OTHER"},
		{"stats OTHER", nil, cli.ExitNotFound, "there is no zone OTHER"},
		{"audit OTHER", nil, cli.ExitNotFound, "there is no zone OTHER"},
		{"zones list", with("QUEUE_ADMIN_TOKEN", "wrong-but-certainly-long-enough"), cli.ExitRefused, "refuses the operators' token of QUEUE_ADMIN_TOKEN"},
		{"zones watch", with("QUEUE_ADMIN_TOKEN", "wrong-but-certainly-long-enough"), cli.ExitRefused, "refuses the operators' token"},
		{"zones list", elsewhere, cli.ExitUnreachable, "connection refused"},
		{"zones watch", elsewhere, cli.ExitUnreachable, "Does it run, and is this its operators' listener?"},
		{"zones list", with("QUEUE_ADMIN_URL", c.public), cli.ExitUnreachable, "not the operators' listener of a queue-server"},
		{"zones create TICKETS", nil, cli.ExitConflict, "zone TICKETS is there already, and stays as it is"},
	}
	for _, tt := range tests {
		env := tt.env
		if env == nil {
			env = c.env
		}
		got := runToEnd(t, env, strings.Fields(tt.command)...)
		says(t, tt.command, got, tt.status, tt.says)
		if tt.status != cli.ExitOK && got.out != "" {
			t.Errorf("%s: stdout %q, want nothing", tt.command, got.out)
		}
	}
}

// TestOperatorsTokenIsFound: in the environment, in the file that it names, in
// the data folder of this machine's server; but the last is sent nowhere else.
func TestOperatorsTokenIsFound(t *testing.T) {
	data := t.TempDir()
	s := start(t, map[string]string{"QUEUE_DATA_DIR": data, "QUEUE_ADMIN_TOKEN": ""})
	file := filepath.Join(data, "admin-token")
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "mounted") // as container engines do
	if err := os.WriteFile(open, token, 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		env    map[string]string
		status int
		says   string
	}{
		{"environment", map[string]string{"QUEUE_ADMIN_TOKEN": strings.TrimSpace(string(token))}, cli.ExitOK, ""},
		{"file", map[string]string{"QUEUE_ADMIN_TOKEN_FILE": open}, cli.ExitOK, ""},
		{"data folder", map[string]string{"QUEUE_DATA_DIR": data}, cli.ExitOK, ""},
		{"no file", map[string]string{"QUEUE_ADMIN_TOKEN_FILE": "/none"}, cli.ExitUsage, "QUEUE_ADMIN_TOKEN_FILE: secret: open /none"},
		{"no data folder", map[string]string{"QUEUE_DATA_DIR": "/none"}, cli.ExitUsage, "no operators' token: put it into the variable QUEUE_ADMIN_TOKEN"},
		{"elsewhere", map[string]string{"QUEUE_DATA_DIR": data, "QUEUE_ADMIN_URL": "https://queue.example"}, cli.ExitUsage,
			"no operators' token for https://queue.example"},
	}
	for _, tt := range tests {
		env := map[string]string{"QUEUE_ADMIN_ADDR": strings.TrimPrefix(s.operators, "http://")}
		maps.Copy(env, tt.env)
		says(t, tt.name, runToEnd(t, env, "zones", "list"), tt.status, tt.says)
	}
	if !strings.Contains(printed(t, "serve", "--help"), `(default "`+cli.DefaultDataDir+`")`) {
		t.Errorf("the commands look for the token in %s, and servers keep it elsewhere", cli.DefaultDataDir)
	}
	for _, args := range [][]string{{"zones", "list", "--help"}, {"zones", "apply", "--help"}, {"stats", "--help"}} {
		if text := printed(t, args...); strings.Contains(text, "--admin-token") {
			t.Errorf("a flag for the token, which ps shows:\n%s", text)
		}
	}
}

// printed returns what a command prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	return runToEnd(t, nil, args...).out
}
