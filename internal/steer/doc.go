// Package steer is the autopilot: every ten seconds it looks at how the site behind a zone does, and changes the zone's maxInside by the
// rule of package pilot, or says what it would set.
//
// Every server runs it. Each shares what it saw in a slot of ten seconds through the store; two seconds later each reads what all have
// shared, joins that, and decides. Which server makes the step does not matter: a step is a change that is made only if the zone is still as it
// was (as a step of an event is), and the zone's settings have the last step, so that all servers count from it, also one that has just started.
//
// Where a signal, the store or a server is away, nothing is changed: the cap that is in force stays. An operator's change of the limit, the mode or
// the cap, and a step of an event, hold the autopilot for HoldFor.
//
// Steps are kept beside the zone's minutes under a name that no zone can have (see stepsOf), each by all servers that hear of it, for as long as
// the minutes are.
package steer
