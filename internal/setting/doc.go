// Package setting is what a setting is, whatever it is a setting of: a row of a
// table that says its name, what values it may have, and how it is shown. Whoever
// reads, writes, compares or shows settings goes through such a table, so that a
// setting is added in one place:
//
//	zone.Table ──> JSON and YAML, the operators' API, what stores keep and compare,
//	               the record of changes, the console's forms, the command line
//
// The kind of a setting is that of where it is kept: a whole number (*int64), yes or no
// (*bool), a text (*string), one of few texts (*string, with Choices), a list of
// texts (*[]string), or a text in several languages (*Texts). Nothing here knows what any setting means.
package setting
