// Package schedule runs the events of zones: it makes each step when the step is due on the
// store's clock, and publishes the list and the seed from which a draw follows.
//
// Every server runs it. A step is a change of the zone's settings that is made only if nobody
// has changed them meanwhile. The record names "event NAME" in place of an operator. So one of
// many servers makes each step, and a server that starts late makes those that are due. The
// opening itself does not wait for a step: the stores admit nobody before it, and visitors
// from then on, by themselves (event.Gate).
//
// When people have settled, each server makes the list of the draw from the line, and writes it unless the store has one:
// the first list that is written whole is the draw's. From then on each server remembers that list, serves it from memory,
// and writes it again if the store loses it.
package schedule
