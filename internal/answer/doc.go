// Package answer is the one JSON shape in which visitors ask and are answered:
// wait (taking a place) and entry (polling it) share it.
//
// A poll is the request that a crowd repeats, so this path is written by hand:
// the body is read into a pooled buffer and decoded without reflection, and the answer is
// appended to a pooled buffer and written once. What few clients send, such as escapes and
// members that are no strings, is left to package jsontext. The benchmarks hold the path
// below a bare echo handler that binds and writes the same JSON; the fuzz tests hold it to
// what encoding/json accepts and returns.
//
//	Receive  reads and decodes one request's body      (http.go)
//	Decode   a flat JSON object of strings             (decode.go)
//	Issuer   adds the token and the pass               (issue.go)
//	Answer   encodes itself                            (answer.go)
//	Send     writes it, with Retry-After while waiting (http.go)
package answer
