// Package serve is what any server has, and a wing: it knows nothing of waiting.
//
// This package itself is what handlers of all listeners share: reading a body of
// bounded length (http.go), what is wrong with a request (errors.go), who makes a
// change and when it may be made (change.go), addresses of listeners (address.go).
//
//	metric      what is counted, for Prometheus
//	openapi     the API, described: one document for each listener, and who sends it
//	cors        which pages of other sites may ask (CORS)
//	problem     the one table from errors to documents of RFC 9457
//	keyset      the public keys of those who sign, from a file or a URL
//	secret      secrets, read from files or the environment, and how strong they are
//	strictyaml  settings, read from YAML or JSON with all faults told
//	background  loops that begin and end with a part of the server, and calls that many share
//
// problem and metric name what the others return and do, so they import them; the
// others import this package and the domain alone.
package serve
