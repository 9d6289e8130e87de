// Package schedule has the events of zones take place: it makes each step when it is due on
// the store's clock, and publishes what a draw follows from.
//
// Every server runs it. A step is a change of the zone's settings that is made only if nobody
// has changed them meanwhile, as an operator's is, with the name "event NAME" in the record.
// So of many servers one makes it, and a server that starts late makes what is due. What must
// be exact at its time does not wait for a step: the stores let nobody in before the opening
// and somebody from then on by themselves (event.Gate).
//
// When people have settled, one server writes the list of the draw, beside the steps. The other servers see that it is
// being written, and begin to write it themselves if that does not go on. A write that fails goes on where it was. The
// parts of a list have a name that only their writer uses. The head of the list is part 0 under the event's name, and
// names the writer. From then on each server remembers the list, and writes it again if the store loses it.
package schedule
