package strictyaml

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"gopkg.in/yaml.v3"
)

// Errors of Object: each is a sentence without its subject.
var (
	// ErrJSON: the text is not JSON (RFC 8259).
	ErrJSON = errors.New("is not valid JSON")
	// ErrObject: the text is JSON, but no object.
	ErrObject = errors.New("must be a JSON object")
	errMore   = errors.New("something follows the value")
)

// Object reads a JSON object with a JSON decoder, as nodes for a Reader: repeated and unknown names stay visible. The
// error is ErrJSON, with the reason, or ErrObject. Half a surrogate pair and what is not UTF-8 are no JSON here.
func Object(text []byte) (*yaml.Node, error) {
	p := parser{text: text, Decoder: jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))} // Members tells of them
	n, err := p.value()
	if err == nil {
		if _, err = p.ReadToken(); errors.Is(err, io.EOF) {
			err = nil
		} else {
			err = cmp.Or(err, errMore)
		}
	}
	if broken, is := errors.AsType[*jsontext.SyntacticError](err); is { // without its path, which may be 20 kB long
		err = fmt.Errorf("line %d: %w", 1+bytes.Count(text[:broken.ByteOffset], []byte("\n")), broken.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJSON, err)
	}
	if n.Kind != yaml.MappingNode {
		return nil, ErrObject
	}
	return n, nil
}

// parser makes nodes of JSON.
type parser struct {
	*jsontext.Decoder
	text []byte
	// line is that of the byte at offset, from 0 on.
	line   int
	offset int64
}

// value reads the next value, with the lines that it stands in.
func (p *parser) value() (*yaml.Node, error) {
	token, err := p.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode}
	kind := token.Kind()
	switch kind {
	case '{':
		n.Kind = yaml.MappingNode
	case '[':
		n.Kind = yaml.SequenceNode
	case '"':
		n.Tag, n.Value = "!!str", token.String()
	case '0':
		if n.Tag, n.Value = "!!int", token.String(); strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case 'n':
		n.Tag, n.Value = "!!null", token.String()
	default:
		n.Tag, n.Value = "!!bool", token.String()
	}
	p.line += bytes.Count(p.text[p.offset:p.InputOffset()], []byte("\n"))
	p.offset, n.Line = p.InputOffset(), p.line+1
	if n.Kind == yaml.ScalarNode {
		return n, nil
	}
	for p.PeekKind() != ']' && p.PeekKind() != '}' { // the names of a mapping are values like others
		item, err := p.value()
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, item)
	}
	_, err = p.ReadToken()
	return n, err
}
