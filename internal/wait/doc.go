// Package wait is the room in which a visitor takes a place in a zone's line, polls it until admitted,
// or gives it up, and in which anybody may see how long the line is.
//
//	POST /traffic/wait             Service.Join   a place, or straight in
//	POST /traffic/entry            Service.Poll   still waiting, or in
//	POST /traffic/leave            Service.Leave  give the place up
//	GET  /traffic/zones/{zoneId}   Service.State  the zone's public state
//	GET  /.well-known/...          what passes verify with (passes.go)
//
// service.go, poll.go and state.go decide, http.go translates. A token that is not genuine never reaches the
// store. Errors are returned as they are; package problem turns them into documents.
package wait
