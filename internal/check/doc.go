// Package check has no code: it is the wing of what only tests and tools use. Nothing
// that serves imports it.
//
//	architecture  the whole tree held to the rules that no linter knows
//	conformance  what every store of zones must do: stories, a model and a property
//	conformance/limits  the same for the counts of limits
//	generated    holds what is made from tables against the tables
//	openapitest  every answer of a test held against the API's description
//	rehearsed    has the clients of this project play the acts of operate/rehearse
//	process      starts the programs that tests and tools need, and ends them
package check
