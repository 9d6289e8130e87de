package change

import "github.com/openqueue/waitingroom/internal/zone"

// Doing says in a word or two, and in a sentence, what a zone does with those who come, by its settings
// alone. There are no figures in it: a page reads it aloud when it becomes another.
func Doing(s zone.Settings) (word, sentence string) {
	gathers, opens := s.Unopened(false)
	closed, nobody := s.Mode == zone.ModeClosed, s.PerMinute == 0 && s.Mode != zone.ModeOpen
	switch {
	case len(s.SoldOut) > 0:
		return "Sold out", "Nobody is let in. Each visitor who polls or joins gets the reason, and need not wait."
	case gathers != "" && opens == 0:
		return "Opening held", "The opening of " + gathers + " is held. Nobody is let in until an operator moves the opening."
	case gathers != "" && nobody:
		return "Paused", "Nobody is let in, also after " + gathers + " opens. Visitors who wait keep their places."
	case gathers != "" && closed:
		return "Closed to newcomers", "Newcomers are refused. Nobody is let in before " + gathers + " opens."
	case gathers != "" && s.Mode == zone.ModeOpen:
		return "Gathering", "Nobody is let in before " + gathers + " opens. Then all visitors are let in at once, without the limit."
	case gathers != "":
		return "Gathering", "People gather for " + gathers + ". Nobody is let in before it opens."
	case s.Mode == zone.ModeOpen:
		return "Open", "Each visitor is let in at once. The limit does not hold."
	case nobody && closed:
		return "Paused and closed", "Nobody is let in, and newcomers are refused. Visitors who wait keep their places."
	case nobody:
		return "Paused", "Nobody is let in. Visitors who wait keep their places."
	case closed:
		return "Closed to newcomers", "Newcomers are refused. Visitors who wait are still let in."
	}
	return "Letting in", "People are let in at the limit."
}
