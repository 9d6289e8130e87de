// Package operate has no code: it is the wing of the operators. It looks at all that
// visitors use, and nothing of theirs imports it.
//
//	operator  the service: zones are made, changed, watched and deleted; who may do so
//	change    what a change of settings does, in words: for the console, the command line and the record
//	console   the pages in the browser, over operator and the limits' policies
//	adminclient  the operators' API from the other side: what the command line asks with
//	cli       the command line, which cmd/queue-server hangs into the program
//	configfile  the YAML file of QUEUE_CONFIG, which a server reads and the command line applies
//	rehearse  a room on its worst day, by a script, that judges the client which plays along
//	simulate  the dry run: a crowd or an event in virtual time, played by what serves
//	uplot     the one script in our pages that is not our own, which draws curves
package operate
