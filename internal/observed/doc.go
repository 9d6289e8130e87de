// Package observed keeps which requests a gate that only observes would have had wait, or refused, and suggests what the zone should never
// queue.
//
//	site ──> Log.Add ──> kinds of requests ──> Log.List ──> operator: console, command line
//
// # What is kept
//
// A kind of request is a method, a path without query, and what sent it. Parts of a path that look like ids become *: those with an
// @, those with three digits or more, and those that are long. Of a User-Agent the name of the program is kept, without version.
// Nothing is kept of addresses, cookies and other headers.
//
// Kinds are kept in memory, at most maxKinds for a zone, for as long as the server runs. When there are more, the kind with the fewest
// requests is forgotten, that of a browser that opens a page first. Each server keeps those of the requests that it gets.
package observed
