package zones

import (
	"github.com/openqueue/waitingroom/internal/line"
)

// EarlyAnswer is what one is told a second after it was told something else.
func EarlyAnswer(z *Zone, told line.Told) line.Told {
	polls := newPollCache()
	polls.keep(z, told.Place, &told, 1_000)
	e, _ := polls.early(z, told.Place, 2_000)
	return e.answer(told.Place, 2_000, 0)
}
