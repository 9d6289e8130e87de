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

// Span writes a duration in its two largest units: 42 s, 20 m 34 s, 2 h 05 m.
func Span(d time.Duration) string {
	const sixty = 60
	s := int64(math.Round(d.Seconds()))
	switch {
	case s < sixty:
		return fmt.Sprintf("%d s", s)
	case s < sixty*sixty && s%sixty == 0:
		return fmt.Sprintf("%d m", s/sixty)
	case s < sixty*sixty:
		return fmt.Sprintf("%d m %02d s", s/sixty, s%sixty)
	case s/sixty%sixty == 0:
		return fmt.Sprintf("%d h", s/(sixty*sixty))
	}
	return fmt.Sprintf("%d h %02d m", s/(sixty*sixty), s/sixty%sixty)
}
