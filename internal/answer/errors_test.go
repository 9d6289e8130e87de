package answer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/serve"
)

func TestChecks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err  error
		want string // the detail; "" where nothing is wrong
	}{
		"zone":             {answer.CheckZoneID("Test.Zone_1-a"), ""},
		"no zone":          {answer.CheckZoneID(""), "zoneId is missing"},
		"malformed zone":   {answer.CheckZoneID("{Z}"), "zoneId must be 1 to 64 of A-Z a-z 0-9 . _ -"},
		"token":            {answer.CheckToken(strings.Repeat("x", 256)), ""},
		"no token":         {answer.CheckToken(""), "token is missing"},
		"long token":       {answer.CheckToken(strings.Repeat("x", 257)), "token must not be longer than 256 bytes"},
		"bytes":            {answer.CheckLength("f", "éé", 4), ""},
		"too many bytes":   {answer.CheckLength("f", "éé", 3), "f must not be longer than 3 bytes"},
		"characters":       {answer.CheckRunes("f", "éé", 2), ""},
		"too many of them": {answer.CheckRunes("f", "ééé", 2), "f must not be longer than 2 characters"},
	}
	for name, tt := range tests {
		field, wrong := errors.AsType[*serve.FieldError](tt.err)
		switch {
		case tt.want == "":
			if tt.err != nil {
				t.Errorf("%s: got %v", name, tt.err)
			}
		case !wrong || field.Detail() != tt.want || !errors.Is(tt.err, serve.ErrInvalid):
			t.Errorf("%s: got %v, want %q", name, tt.err, tt.want)
		}
	}
}

func TestZoneOf(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	err := fmt.Errorf("further out: %w", answer.InZone("Z", fmt.Errorf("room: %w", cause)))
	if answer.ZoneOf(err) != "Z" || !errors.Is(err, cause) || err.Error() != "further out: room: cause" {
		t.Errorf("got %v in %q", err, answer.ZoneOf(err))
	}
	if got := answer.ZoneOf(cause); got != "" {
		t.Errorf("an error of no zone is in %q", got)
	}
}
