// Package cli is the operators' command line: what asks a running server, and the dry
// run. cmd/queue-server hangs its commands into the program, beside its own.
//
//	Commands     all commands, for the root of the program
//	Execute      runs the program: one command line to its exit status
//	Terminal     where it runs: the environment, what it prints to, whom it can ask
//
// What each file is for:
//
//	command.go   how a command is made: its arguments, its flags, its completion
//	session.go   a command's session with a server: which one, who asks, what its errors mean
//	zones.go     zones list, get, create, delete
//	change.go    zones set, pause, resume, open, close
//	watch.go     zones watch
//	limits.go    limits list, show, delete
//	apply.go     zones apply, limits apply
//	audit.go     the record of changes
//	events.go    events list, hold, move, open, cancel; verify.go checks a draw
//	stats.go     stats
//	simulate.go  simulate, also with --event
//	rehearse.go  rehearse
//	status.go    exit statuses, and how an error is told
//	table.go     tables; words.go how figures are written
package cli
