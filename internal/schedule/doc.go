// Package schedule has the events of zones take place: it makes each step when it is due on
// the store's clock, and publishes what a draw follows from.
//
// Every server runs it. A step is a change of the zone's settings that is made only if nobody
// has changed them meanwhile, as an operator's is, with the name "event NAME" in the record.
// So of many servers one makes it, and a server that starts late makes what is due. What must
// be exact at its time does not wait for a step: the stores let nobody in before the opening
// and somebody from then on by themselves (event.Gate).
//
// When people have settled, each server makes the list of the draw from the line, and writes it unless the store has one:
// the first list that is written whole is the draw's. From then on each server remembers that list, answers from memory
// who asks for it, and writes it again if the store loses it.
package schedule
