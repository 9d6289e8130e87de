// Package serve is a wing: what any server has. Apart from openapi, it knows
// nothing of waiting.
//
// This package itself has what the handlers of all listeners share: reading a body of
// bounded length (http.go), what is wrong with a request (errors.go), who makes a
// change and when it may be made (change.go), addresses of listeners (address.go), texts
// in the visitor's language (text.go).
//
//	route       one table of a listener's calls, from which its routes and their description are made
//	openapi     the API's description: one document for each listener, and its handler
//	cors        which pages of other sites may send requests (CORS)
//	keyset      the keys that verify signatures of others, from a file or a URL
//	secret      secrets, read from files or the environment, and how strong they are
//	strictyaml  settings, read from YAML or JSON; the error tells all faults
//	background  loops that begin and end with a part of the server, and calls that many share
//
// openapi names what other packages answer, so it imports these. The rest
// import this package and the domain alone.
package serve
