package answer

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

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
// hold; null is the same as absent. Values are copies: body may be used again.
//
// It accepts what encoding/json accepts for a struct of strings, and returns the same values. These differences are on
// purpose:
//
//   - Names are compared exactly, not regardless of case: a body must not mean
//     one thing here and another thing to the gateway in front.
//   - A member that comes twice is refused, in any object: the first may count for
//     a gateway in front, and the last here.
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
	d, ok := decoders.Get().(*decoder)
	if !ok {
		d = new(decoder)
	}
	defer decoders.Put(d)
	d.body.Reset(body)
	d.Reset(&d.body)
	return d.object(fields)
}

// decoder reads one body after the other.
type decoder struct {
	jsontext.Decoder
	body bytes.Reader
}

var decoders sync.Pool

// object reads a JSON object. It takes time linear in the body's length.
func (d *decoder) object(fields []Field) error {
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return invalid(serve.BodyField, "must be a JSON object")
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return errSyntax(err)
		}
		of := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name.String() })
		kind := d.PeekKind()
		value, err := d.text()
		switch {
		case err != nil:
			return errSyntax(err)
		case of < 0 || kind == 'n':
		case kind == '"':
			*fields[of].Value = value
		default:
			// The clone keeps fields out of the error, and so their Values off the heap.
			return invalid(strings.Clone(fields[of].Name), "must be a string")
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return errSyntax(err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return invalid(serve.BodyField, "must end after the JSON object")
	}
	return nil
}

// text reads one value, and returns it if it is a string.
func (d *decoder) text() (text string, err error) {
	for outside := d.StackDepth(); ; {
		t, err := d.ReadToken()
		switch {
		case err != nil:
			return "", err
		case d.StackDepth() > maxDepth:
			return "", errDeep
		case d.StackDepth() > outside: // still inside the value
		case t.Kind() == '"':
			return t.String(), nil
		default:
			return "", nil
		}
	}
}

var errDeep = errors.New("answer: nested too deeply")

// errSyntax refuses a body for an error of its reader.
func errSyntax(err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return invalid(serve.BodyField, "has a member twice")
	}
	return invalid(serve.BodyField, "is not valid JSON")
}
