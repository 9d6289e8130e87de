package answer_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/token"
)

func TestChecks(t *testing.T) {
	t.Parallel()
	tokens, err := token.NewKeys([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	place := func(zoneID, tok string) error {
		_, err := answer.NewIssuer(tokens, nil).Verify(zoneID, tok)
		return err
	}
	if err := place("Z", strings.Repeat("x", 256)); !errors.Is(err, token.ErrInvalid) || answer.ZoneOf(err) != "Z" {
		t.Errorf("a token that is not genuine: %v", err)
	}
	tests := map[string]struct {
		err  error
		want string // the detail; "" where nothing is wrong
	}{
		"zone":             {answer.CheckZoneID("Test.Zone_1-a"), ""},
		"no zone":          {answer.CheckZoneID(""), "zoneId is missing"},
		"malformed zone":   {answer.CheckZoneID("{Z}"), "zoneId must be 1 to 64 of A-Z a-z 0-9 . _ -"},
		"no token":         {place("Z", ""), "token is missing"},
		"long token":       {place("Z", strings.Repeat("x", 257)), "token must not be longer than 256 bytes"},
		"token of no zone": {place("", "x"), "zoneId is missing"},
		"bytes":            {answer.CheckLength("f", "éé", 4), ""},
		"too many bytes":   {answer.CheckLength("f", "éé", 3), "f must not be longer than 3 bytes"},
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

func TestOutcome(t *testing.T) {
	t.Parallel()
	got := []string{answer.Outcome(&line.Told{Early: true}, nil), answer.Outcome(&line.Told{}, errors.New("surprise"))}
	for status := range line.Statuses() {
		got = append(got, answer.Outcome(&line.Told{Answer: line.Answer{Status: line.Status(status)}}, nil))
	}
	for _, err := range []error{challenge.ErrRequired, network.ErrShare, guard.ErrRefused, answer.ErrSoldOut, ticket.ErrUsed} {
		got = append(got, answer.Outcome(&line.Told{}, fmt.Errorf("wrapped: %w", err)))
	}
	if !slices.Equal(got, answer.Outcomes()) {
		t.Errorf("got %q; Outcomes are %q", got, answer.Outcomes())
	}
}
