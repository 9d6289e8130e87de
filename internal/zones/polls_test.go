package zones

import "testing"

// TestLowerOfTwoPositions: of two answers that crossed, the one with the lower position is the later one; but who had
// no number yet, while people gathered, is not nearer than anybody.
func TestLowerOfTwoPositions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ was, is, want uint32 }{
		{100, 99, 99}, {99, 100, 99}, {0, 100, 100}, {100, 0, 100}, {0, 0, 0},
	} {
		e, next := entry{asked: 5_000, a: tt.was}, entry{asked: 5_000 + overlap - 1, a: tt.is}
		if !follows(&next, &e) || next.a != tt.want {
			t.Errorf("%d, and then %d: %d, want %d", tt.was, tt.is, next.a, tt.want)
		}
		e, next = entry{asked: 5_001, a: tt.was}, entry{asked: 5_000, a: tt.is}
		if follows(&next, &e) || e.a != tt.want {
			t.Errorf("%d, and then %d of an earlier call: %d, want %d", tt.was, tt.is, e.a, tt.want)
		}
		e, next = entry{asked: 5_000, a: tt.was}, entry{asked: 5_000 + overlap, a: tt.is}
		if !follows(&next, &e) || next.a != tt.is {
			t.Errorf("%d, and %d much later: %d", tt.was, tt.is, next.a)
		}
	}
}
