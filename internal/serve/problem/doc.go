// Package problem turns every error of every room into the document that the
// client gets: RFC 9457, application/problem+json, with a stable code.
//
//	rooms return errors ──> Of: the one table, table.go ──> Handler: http.go
//
// An error that the table does not have is a 500: logged once, here, and its
// text is never sent. Codes are listed in internal/problem/README.md. The documents'
// type points there: it is part of the API, so that page stays where it is.
package problem
