package cli

import (
	"strings"
	"testing"
)

func TestRehearse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line   string
		status int
		says   string
	}{
		{"--addr 127.0.0.1:0 --act closed -- true", ExitUsage, "closed not played"},
		{"--addr 127.0.0.1:0 --act clam", ExitUsage, `there is no act "clam"`},
		{"--speed 0", ExitUsage, "speed is 0, must be 1 to 100"},
		{"true", ExitUsage, "write -- before the command"},
		{"", ExitUsage, "no command that starts the client"},
		{"--help", ExitOK, "503 for the join"},
	}
	for _, tt := range tests {
		status, out, errs := command(t, append([]string{"rehearse"}, strings.Fields(tt.line)...)...)
		if printed := strings.Join(strings.Fields(out+errs), " "); status != tt.status || !strings.Contains(printed, tt.says) {
			t.Errorf("%s: %d, want %d, and %q in\n%s\n%s", tt.line, status, tt.status, tt.says, out, errs)
		}
	}
}
