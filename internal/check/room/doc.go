// Package room is one server in the process of a test: the embedded store, the zones, and the rooms in which visitors join and poll,
// behind echo. Each answer is checked against the description of the API.
//
// Time stands still until the test moves it (Clock). The store can be made to fail, to hang or to answer otherwise (Store.Do), the
// limiter to refuse (Limiter), and whatever the rooms count is written down (Meter). A test that needs other parts sets the fields of a
// Server and calls Serve.
package room
