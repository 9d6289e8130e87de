// Package change says in words what a change of settings does, once for all who say it: the
// console before a change is confirmed, the command line after it was made, and the record of
// changes.
//
//	Differences   the settings that are not the same in two versions of a zone or policy
//	Events        a list of events in place of which stands what differs in each event
//	Zone, Policy  what a change does to those who wait, or ask, in sentences
//	Doing         what a zone does with those who come, by its settings
//
// Settings come from their tables, zone.Table and Policies. Nothing here asks a server or a
// store: who calls says what is known of the line.
package change
