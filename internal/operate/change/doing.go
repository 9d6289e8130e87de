package change

import "github.com/openqueue/waitingroom/internal/zone"

// Doing says in a word or two, and in a sentence, what a zone does with those who come, by its settings
// alone. There are no figures in it: a page reads it aloud when it becomes another.
func Doing(s zone.Settings) (word, sentence string) {
	gathers, opens := s.Unopened(false)
	closed, nobody := s.Mode == zone.ModeClosed, s.PerMinute == 0 && s.Mode != zone.ModeOpen
	switch {
	case len(s.SoldOut) > 0:
		return "Sold out", "Nobody is admitted. Each visitor who polls or joins gets the reason, and need not wait."
	case gathers != "" && opens == 0:
		return "Opening held", "The opening of " + gathers + " is held. Nobody is admitted until an operator moves the opening."
	case gathers != "" && nobody:
		return "Paused", "Nobody is admitted, also after " + gathers + " opens. Visitors who wait keep their places."
	case gathers != "" && closed:
		return "Closed to newcomers", "Newcomers are refused. Nobody is admitted before " + gathers + " opens."
	case gathers != "" && s.Mode == zone.ModeOpen:
		return "Gathering", "Nobody is admitted before " + gathers + " opens. Then all visitors are admitted at once, without the limit."
	case gathers != "":
		return "Gathering", "People gather for " + gathers + ". Nobody is admitted before it opens."
	case s.Mode == zone.ModeOpen:
		return "Open", "Each visitor is admitted at once. The limit does not hold."
	case nobody && closed:
		return "Paused and closed", "Nobody is admitted, and newcomers are refused. Visitors who wait keep their places."
	case nobody:
		return "Paused", "Nobody is admitted. Visitors who wait keep their places."
	case closed:
		return "Closed to newcomers", "Newcomers are refused. Visitors who wait are still admitted."
	}
	return "Admitting", "People are admitted at the limit."
}
