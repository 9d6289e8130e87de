// Package operate has no code: it is the map of the operators' wing. The wing imports the packages of a
// visitor's request; none of these imports the wing.
//
//	operator  the service: zones are made, changed, watched and deleted; who may do so
//	change    what a change of settings does, in words: for the console, the command line and the record
//	console   the pages in the browser, over operator and the limits' policies
//	adminclient  the operators' API from the other side: what the command line asks with
//	cli       the command line, which cmd/queue-server hangs into the program
//	configfile  the YAML file of QUEUE_CONFIG, which a server reads and the command line applies
//	rehearse  a scripted room on its worst day, which checks the rules that a client has to keep
//	simulate  the dry run: a crowd or an event in virtual time, through the code that serves visitors
package operate
