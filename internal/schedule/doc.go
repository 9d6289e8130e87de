// Package schedule has the events of zones take place: it makes each step when it is due on
// the store's clock, and publishes what a draw follows from.
//
// Every server runs it. A step is a change of the zone's settings that is made only if nobody
// has changed them meanwhile, as an operator's is, with the name "event NAME" in the record.
// So of many servers one makes it, and a server that starts late makes what is due. What must
// be exact at its time does not wait for a step: the stores let nobody in before the opening
// and somebody from then on by themselves (event.Gate).
//
// The list of a draw is written when people have settled, by one server, beside the steps: the others see that
// it is at it, and begin themselves if it does not go on. What fails goes on where it was. Its parts have a name of their own;
// what is known of the draw is part 0 under the event's name, and says where they are. From then
// on each server remembers the list, and writes it anew where the store loses it.
package schedule
