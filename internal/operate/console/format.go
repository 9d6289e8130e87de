package console

import (
	"fmt"
	"strconv"

	"github.com/openqueue/waitingroom/internal/window"
)

// unknown stands where there is no figure.
const unknown = "–"

// span writes milliseconds as a person says them: 4.2 s, 42 s, 4 min 20 s,
// 34 min, 1 h 05 min. A day, the longest ever told, may be more.
func span(millis int64) string {
	seconds := (millis + 500) / 1000
	switch {
	case millis >= window.MaxEstimateMillis:
		return "a day or more"
	case millis <= 0:
		return "0 s"
	case millis < 9_950:
		return strconv.FormatFloat(float64(millis)/1000, 'f', 1, 64) + " s"
	case seconds < 60:
		return strconv.FormatInt(seconds, 10) + " s"
	case seconds >= 600 && seconds < 3570:
		return strconv.FormatInt((seconds+30)/60, 10) + " min"
	case seconds < 600:
		return fmt.Sprintf("%d min %02d s", seconds/60, seconds%60)
	default:
		minutes := (seconds + 30) / 60
		return fmt.Sprintf("%d h %02d min", minutes/60, minutes%60)
	}
}
