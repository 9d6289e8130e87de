// Package wait is the room in which a visitor takes a place in a zone's line,
// or gives it up, and in which anybody may see how long the line is.
//
//	POST /traffic/wait             Service.Join   a place, or straight in
//	POST /traffic/leave            Service.Leave  give the place up
//	GET  /traffic/zones/{zoneId}   Service.State  the zone's public state
//
// service.go and state.go decide, http.go translates. Errors are returned as
// they are; package problem turns them into documents.
package wait
