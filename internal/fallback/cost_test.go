package fallback

import (
	"context"
	"testing"

	"github.com/openqueue/waitingroom/internal/line"
)

// instant is a store that answers at once, and always the same.
type instant struct {
	Lines
	answer line.Answer
}

func (i *instant) Poll(context.Context, string, line.Place) (line.Answer, error) {
	return i.answer, nil
}

// On all days but the bad ones, a poll of a store in this process costs a few
// look-ups and no memory.
func TestPollAllocatesNothing(t *testing.T) {
	s := New(Options{Lines: &instant{}, Meter: &meter{}})
	poll := func() {
		if _, err := s.Poll(t.Context(), testZone, line.Place{}); err != nil {
			t.Fatal(err)
		}
	}
	poll() // the first makes the guard
	if n := testing.AllocsPerRun(100, poll); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPoll(b *testing.B) {
	for _, bm := range []struct {
		name string
		o    Options
	}{
		{"in this process", Options{}},
		{"with a deadline", Options{Within: Within}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			bm.o.Lines, bm.o.Meter = &instant{}, &meter{}
			s := New(bm.o)
			for b.Loop() {
				if _, err := s.Poll(b.Context(), testZone, line.Place{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
