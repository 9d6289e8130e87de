package answer

import (
	"bytes"

	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openqueue/waitingroom/internal/serve"
)

// maxDepth bounds the nesting of a body, its outermost object included. No client of this
// contract nests at all.
const maxDepth = 32

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
// It accepts what encoding/json accepts for a struct of strings, and returns the same values. These differences are on
// purpose:
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
	if decodePlain(body, fields) {
		return nil
	}
	return decodeAny(body, fields)
}

// decodePlain decodes what nearly every client sends: strings without escapes in one flat
// object. It reports false for anything else, which decodeAny decodes from the beginning.
func decodePlain(body []byte, fields []Field) bool {
	rest, ok := after(body, '{')
	for ok {
		var name, value []byte
		if name, rest, ok = plainString(rest); !ok {
			break
		}
		if rest, ok = after(rest, ':'); !ok {
			break
		}
		if value, rest, ok = plainString(rest); !ok {
			break
		}
		for _, f := range fields {
			if string(name) == f.Name {
				*f.Value = string(value)
			}
		}
		if end, closed := after(rest, '}'); closed {
			return len(space(end)) == 0
		}
		rest, ok = after(rest, ',')
	}
	return false
}

// space returns what follows the white space at the beginning of text.
func space(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\n' || text[0] == '\t' || text[0] == '\r') {
		text = text[1:]
	}
	return text
}

// after returns what follows white space and the byte c.
func after(text []byte, c byte) (rest []byte, ok bool) {
	text = space(text)
	if len(text) == 0 || text[0] != c {
		return nil, false
	}
	return text[1:], true
}

// plainString reads white space and a string without escapes.
func plainString(text []byte) (value, rest []byte, ok bool) {
	text, ok = after(text, '"')
	if !ok {
		return nil, nil, false
	}
	ascii := true
	for i, c := range text {
		switch {
		case c == '"':
			return text[:i], text[i+1:], ascii || utf8.Valid(text[:i])
		case c == '\\', c < ' ':
			return nil, nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, nil, false
}

// decodeAny decodes any JSON object. It takes time linear in the body's length.
func decodeAny(body []byte, fields []Field) error {
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return invalid(serve.BodyField, "must be a JSON object")
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return errSyntax()
		}
		of := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name.String() })
		kind := d.PeekKind()
		value, err := readValue(d)
		switch {
		case err != nil:
			return errSyntax()
		case of < 0 || kind == 'n':
		case kind == '"':
			*fields[of].Value = value
		default:
			// The clone keeps fields out of the error, and so their Values off the heap.
			return invalid(strings.Clone(fields[of].Name), "must be a string")
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return errSyntax()
	}
	if d.PeekKind() != 0 || len(space(d.UnreadBuffer())) > 0 {
		return invalid(serve.BodyField, "must end after the JSON object")
	}
	return nil
}

// readValue reads one value, and returns it if it is a string.
func readValue(d *jsontext.Decoder) (text string, err error) {
	for outside := d.StackDepth(); ; {
		t, err := d.ReadToken()
		switch {
		case err != nil:
			return "", err
		case d.StackDepth() > maxDepth:
			return "", errSyntax()
		case d.StackDepth() > outside: // still inside the value
		case t.Kind() == '"':
			return t.String(), nil
		default:
			return "", nil
		}
	}
}

func errSyntax() error { return invalid(serve.BodyField, "is not valid JSON") }
