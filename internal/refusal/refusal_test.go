package refusal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/openqueue/waitingroom/internal/refusal"
)

var (
	errBusy  = refusal.New("test: busy", refusal.TooManyRequests.Saying("The test is busy."))
	errOther = refusal.Like("test: other", errBusy)
)

func TestOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		code string
	}{
		{fmt.Errorf("further out: %w", errBusy), "too_many_requests"},
		{errOther, "too_many_requests"},
		{fmt.Errorf("%w: %w", errBusy, context.DeadlineExceeded), "too_many_requests"},
		{context.DeadlineExceeded, "store_unavailable"},
		{fmt.Errorf("%w: %w", errBusy, context.Canceled), "store_unavailable"},
		{errors.New("surprise"), "internal_error"},
	} {
		if got := refusal.Of(tt.err); got.Code != tt.code {
			t.Errorf("%v: %s, want %s", tt.err, got.Code, tt.code)
		}
	}
	if errors.Is(errOther, errBusy) || refusal.Describe(errOther).Detail != "The test is busy." {
		t.Errorf("an error that is told as another: %+v", refusal.Describe(errOther))
	}
}

// TestAll: of several refusals with a code, the one that describes the code counts.
func TestAll(t *testing.T) {
	t.Parallel()
	codes := refusal.Codes()
	if !slices.IsSorted(codes) || len(slices.Compact(slices.Clone(codes))) != len(codes) {
		t.Errorf("codes: %q", codes)
	}
	for _, r := range refusal.All() {
		if r.Doc == "" || r.Readers == "" || r.Detail == "The test is busy." {
			t.Errorf("%s is not described: %+v", r.Code, r)
		}
	}
}
