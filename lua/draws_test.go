package lua

import (
	"context"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
)

// sent has the names of the commands that were sent.
type sent struct {
	away
	names *[]string
}

func (s sent) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		*s.names = append(*s.names, cmd.Name())
		return next(ctx, cmd)
	}
}

// TestAListThatIsThereIsNotSent: each server asks every two seconds whether the list is still there, which may have megabytes.
func TestAListThatIsThereIsNotSent(t *testing.T) {
	t.Parallel()
	s := openStore(t, nil)
	var names []string
	s.client.AddHook(sent{names: &names})
	for _, want := range []bool{true, false} {
		names = nil
		if written, err := s.KeepDraw(t.Context(), "Z", "c0ffee", []byte("a list")); err != nil || written != want {
			t.Fatal(written, err)
		}
		if slices.Contains(names, "set") != want {
			t.Errorf("sent %q", names)
		}
	}
}
