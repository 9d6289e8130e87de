package setting

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Count writes 12340 as 12,340.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	from := 0
	if n < 0 {
		from = 1
	}
	for i := len(digits) - 3; i > from; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Rate writes what happens in a minute or a second with as many decimals as mean something.
func Rate(v float64) string {
	if v >= 0.05 && v < 9.95 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return Count(int64(math.Round(v)))
}

// Percent writes 0.123 as 12 %.
func Percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// Span writes a duration in its two largest units: 42 s, 4 min 20 s, 4 h 05 min, 3 d 4 h. The console's countdowns
// (countdown.js) write the same.
func Span(d time.Duration) string {
	s := int64(math.Round(d.Seconds()))
	two := func(n int64, unit, rest string, part int64) string {
		if part == 0 {
			return fmt.Sprintf("%d %s", n, unit)
		}
		return fmt.Sprintf("%d %s "+rest, n, unit, part)
	}
	const minute, hour, day = 60, 3_600, 86_400
	switch {
	case s < minute:
		return fmt.Sprintf("%d s", s)
	case s < hour:
		return two(s/minute, "min", "%02d s", s%minute)
	case s < day:
		return two(s/hour, "h", "%02d min", s%hour/minute)
	}
	return two(s/day, "d", "%d h", s%day/hour)
}
