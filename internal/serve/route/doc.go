// Package route is what a listener can be asked: a table with one row for each call. From a row come its route in echo and
// its description in OpenAPI 3.0.3.
//
//	http.go      Route: what serves a call, and what its description says. Mount puts a table into echo
//	role.go      what who asks for a call must be
//	describe.go  Listener.Describe: the document
//	answer.go    what the calls answer; refusals come from the table of problems
//	schema.go    a Go type as a schema
//
// A struct describes itself by tags. The tag json has a field's name, doc its description; example, default, enum, format,
// pattern, minimum, maximum, minLength, maxLength, minItems, maxItems and maxProperties mean what they mean in OpenAPI. In a list,
// those of a text are its entries'. A number has the minimum 0 unless the tag says otherwise. A field is always in an answer
// unless it has omitempty or omitzero, or the tag required is "always". A body must have the fields whose tag required is "body".
// A field whose doc is "-" is not described.
package route
