// Package check has no code: it is the wing of what only tests and tools use. Nothing
// that serves imports it.
//
//	architecture  the whole tree held to the rules that no linter knows
//	conformance  what every store of zones must do: stories, a model and a property
//	conformance/limits  the same for the counts of limits
//	openapitest  every answer of a test held against the API's description
//	rehearsed    has the clients of this project play the acts of operate/rehearse
//	acceptance   judges a load test by what its visitors saw
//	process      starts the programs that tests and tools need, and ends them
//	baseline     a redis-server and the least a poll must do: what lua is measured against
package check
