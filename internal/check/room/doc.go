// Package room is one server in the process of a test: the embedded store, the zones, and the rooms in which visitors join and poll,
// behind echo. Each answer is checked against the description of the API.
//
// Its clock, store, limiter and meter are those of package parts, which the test controls. A test that needs other parts sets the fields
// of a Server and calls Serve.
package room
