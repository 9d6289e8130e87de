package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/cli"
	"github.com/openqueue/waitingroom/internal/zone"
)

// fileNames is what completions has for a shell that completes names of files itself.
const fileNames = ":file"

// completions are the values that a shell shows for a command line, without their
// descriptions.
func completions(t *testing.T, env map[string]string, words ...string) []string {
	t.Helper()
	got := runToEnd(t, env, append([]string{cobra.ShellCompRequestCmd}, words...)...)
	if got.status != cli.ExitOK {
		t.Errorf("%q: %+v", words, got)
	}
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	directive, err := strconv.Atoi(strings.TrimPrefix(lines[len(lines)-1], ":"))
	if err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	if cobra.ShellCompDirective(directive)&cobra.ShellCompDirectiveNoFileComp == 0 {
		return []string{fileNames}
	}
	var all []string
	for _, text := range lines[:len(lines)-1] {
		if value, _, _ := strings.Cut(text, "\t"); strings.HasPrefix(value, words[len(words)-1]) {
			all = append(all, value)
		}
	}
	return all
}

// settingsWith are the completions of a setting of a zone from its first letters.
func settingsWith(prefix string) string {
	var all []string
	for _, name := range zone.Table.Names() {
		if strings.HasPrefix(name, prefix) && !zone.Table.Find(name).Own {
			all = append(all, name+"=")
		}
	}
	return strings.Join(all, " ")
}

func TestComplete(t *testing.T) {
	c := newClerk(t)
	tests := []struct {
		line string // what is after the last blank is being typed
		want string
	}{
		{"st", "stats"},
		{"zones ", "list get watch set pause resume open close create delete apply"},
		{"zones p", "pause"},
		{"zones create ", ""},
		{"zones create N p", settingsWith("p")},
		{"zones set TICKETS perMinute=600 m", settingsWith("m")},
		{"zones set TICKETS mode=", "mode=queue mode=open mode=closed"},
		{"zones set TICKETS onStoreFailure=h", "onStoreFailure=hold"},
		{"zones set TICKETS perMinute=6", ""},
		{"audit --pol", "--policy"},
		{"zones apply --ch", "--check"},
		{"zones apply -f ", fileNames},
		{"zones apply --file ", fileNames},
		{"zones apply --file=z", fileNames},
		{"--admin-h", "--admin-hosts"},
		{"serve --config ", fileNames},
		{"completion ", "bash zsh fish powershell"},
	}
	for _, tt := range tests {
		got := completions(t, c.env, strings.Split(tt.line, " ")...)
		want := strings.Fields(tt.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", tt.line, got, want)
		}
	}
	if got := completions(t, nil, ""); !slices.Contains(got, "zones") {
		t.Errorf("nothing typed: got %q", got)
	}
}

// TestTerminalIsNotCommanded: names and errors that come from a server are shown,
// whatever is in them, and turn nothing on the operator's screen.
func TestTerminalIsNotCommanded(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/admin/audit" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"changes":[{"at":1,"zoneId":"\u001b[2JZ","by":"E\u009b31mv\u202ee\nroot"}]}`)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"code":"invalid_request","detail":"\u001b]0;owned\u0007"}`)
	}))
	t.Cleanup(stranger.Close)
	env := map[string]string{"QUEUE_ADMIN_TOKEN": operatorToken, "QUEUE_ADMIN_URL": stranger.URL}
	for _, words := range [][]string{{"audit"}, {"zones", "list"}} {
		got := runToEnd(t, env, words...)
		if text := got.out + got.errOut; strings.ContainsAny(text, "\x1b\x07\u009b\u202e") || !strings.Contains(text, "\ufffd") {
			t.Errorf("%q prints %q", words, text)
		}
	}
	if got := runToEnd(t, env, "audit"); strings.Count(got.out, "\n") != 2 {
		t.Errorf("a name makes a line of its own: %q", got.out)
	}
}
