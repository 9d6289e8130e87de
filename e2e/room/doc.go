// Package room starts queue-server as a process, for tests that meet it as its users do.
package room
