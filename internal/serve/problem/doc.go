// Package problem turns every error of every room into the document that the
// client gets: RFC 9457, application/problem+json, with a stable code.
//
//	rooms return errors ──> Of: the one table, table.go ──> Handler: http.go
//
// An error that the table does not have becomes a 500: it is logged once, here, and
// its text is never sent. docs/reference/problems.md lists the codes. The type of a
// document is an address in that page, and part of the API, so the page stays where it is.
package problem
