package console

import (
	"testing"
	"time"
)

func TestFiguresAreWrittenForPeople(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 12340: "12,340", 1_000_000: "1,000,000", -1234: "-1,234", -123: "-123",
	} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 0.04: "0", 0.14: "0.1", 9.94: "9.9", 9.96: "10", 1234.5: "1,235"} {
		if got := rate(v); got != want {
			t.Errorf("rate(%v) = %q, want %q", v, got, want)
		}
	}
	for millis, want := range map[int64]string{
		-5: "0 s", 0: "0 s", 40: "0.0 s", 4_200: "4.2 s", 9_949: "9.9 s", 9_950: "10 s", 59_499: "59 s", 59_500: "1 min 00 s",
		61_000: "1 min 01 s", 599_499: "9 min 59 s", 599_500: "10 min", 3_569_499: "59 min", 3_569_500: "1 h 00 min",
		3_900_000: "1 h 05 min", 86_399_999: "24 h 00 min", 86_400_000: "a day or more",
	} {
		if got := span(millis); got != want {
			t.Errorf("span(%d) = %q, want %q", millis, got, want)
		}
	}
	if got := percent(0.985); got != "99 %" {
		t.Errorf("percent: %q", got)
	}
	m := moment{time.Date(2026, 11, 21, 12, 21, 7, 0, time.FixedZone("", 3600))}
	if m.Minute() != "11:21 UTC" || m.Second() != "11:21:07 UTC" || m.Full() != "2026-11-21 11:21:07 UTC" ||
		m.Machine() != "2026-11-21T11:21:07.000Z" {
		t.Errorf("got %q %q %q %q", m.Minute(), m.Second(), m.Full(), m.Machine())
	}
}
