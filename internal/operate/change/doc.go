// Package change says in words what a change of settings does. The console says it before an operator confirms a
// change, the command line after it has made the change, and the record of changes later.
//
//	Differences   the settings that are not the same in two versions of a zone or policy
//	Events        a list of events in place of which stands what differs in each event
//	Zone          what a change does to the visitors who wait, in sentences
//	Doing         what a zone does with those who come, by its settings
//
// Settings come from their tables, zone.Table and Policies. The package asks no server and no
// store: the caller says what is known of the line.
package change
