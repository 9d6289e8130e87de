package answer

import (
	"strings"

	"github.com/openqueue/waitingroom/internal/serve"
)

// Field is one member that a request's body may have. Every field of the
// visitors' contract is a string.
type Field struct {
	// Name is the member's name, compared exactly.
	Name string
	// Value receives the member's value.
	Value *string
}

// Decode reads body as one JSON object (RFC 8259) and sets the fields that it
// names. Members that no field names are checked and skipped, whatever they
// hold; of a member that comes twice, the last counts; null is the same as
// absent. Values are copies: body may be used again.
//
// It accepts what encoding/json accepts for a struct of strings, and returns
// the same values, but for these, all of them on purpose:
//
//   - Names are compared exactly, not regardless of case: a body must not mean
//     one thing here and another thing to the gateway in front.
//   - Bytes that are not UTF-8, and escaped surrogates without their other
//     half, are refused rather than replaced by U+FFFD: two clientIds that
//     differ must not become one place.
//   - Nesting beyond maxDepth is refused (encoding/json: 10,000).
//   - A body of just null is refused: it names nothing.
//
// The error is a *serve.FieldError: of the field whose value is not a string, or of
// serve.BodyField where the text is not JSON. Fields that came before it may have
// been set.
func Decode(body []byte, fields ...Field) error {
	s := scanner{text: body}
	s.space()
	if !s.take('{') {
		return invalid(serve.BodyField, "must be a JSON object")
	}
	s.space()
	if !s.take('}') {
		for {
			if err := s.member(fields); err != nil {
				return err
			}
			if s.take('}') {
				break
			}
			if !s.take(',') {
				return errSyntax()
			}
			s.space()
		}
	}
	s.space()
	if s.at < len(s.text) {
		return invalid(serve.BodyField, "must end after the JSON object")
	}
	return nil
}

func errSyntax() error { return invalid(serve.BodyField, "is not valid JSON") }

// member reads `"name": value` and the white space after it.
func (s *scanner) member(fields []Field) error {
	name, escaped, ok := s.str()
	if !ok || !s.colon() {
		return errSyntax()
	}
	if escaped {
		name = unescape(name)
	}
	for _, f := range fields {
		if string(name) == f.Name {
			return s.value(f)
		}
	}
	if !s.skip(1) {
		return errSyntax()
	}
	s.space()
	return nil
}

// value reads the value of a field, and the white space after it.
func (s *scanner) value(f Field) error {
	switch s.peek() {
	case '"':
		raw, escaped, ok := s.str()
		if !ok {
			return errSyntax()
		}
		if escaped {
			raw = unescape(raw)
		}
		*f.Value = string(raw)
	case 'n':
		if !s.word("null") {
			return errSyntax()
		}
	default:
		if !s.skip(1) {
			return errSyntax()
		}
		// The clone keeps f out of the error, and so its Value off the heap.
		return invalid(strings.Clone(f.Name), "must be a string")
	}
	s.space()
	return nil
}
