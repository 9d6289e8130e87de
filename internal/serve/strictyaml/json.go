package strictyaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Errors of Object: each is a sentence without its subject.
var (
	// ErrJSON: the text is not JSON (RFC 8259).
	ErrJSON = errors.New("is not valid JSON")
	// ErrObject: the text is JSON, but no object.
	ErrObject = errors.New("must be a JSON object")
)

// Object reads a JSON object with a JSON decoder, as nodes for a Reader: repeated and unknown names stay visible. The
// error is ErrJSON or ErrObject.
func Object(text []byte) (*yaml.Node, error) {
	if !json.Valid(text) {
		return nil, ErrJSON
	}
	p := parser{text: text, Decoder: json.NewDecoder(bytes.NewReader(text))}
	p.UseNumber()
	n, err := p.value()
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
	*json.Decoder
	text []byte
	// line is that of the byte at offset, from 0 on.
	line   int
	offset int64
}

// value reads the next value.
func (p *parser) value() (*yaml.Node, error) {
	token, err := p.Token()
	if err != nil {
		return nil, err
	}
	p.line += bytes.Count(p.text[p.offset:p.InputOffset()], []byte("\n"))
	p.offset = p.InputOffset()
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: p.line + 1}
	switch token := token.(type) {
	case json.Delim:
		n.Kind = yaml.SequenceNode
		if token == '{' {
			n.Kind = yaml.MappingNode
		}
		for p.More() { // the names of a mapping are values like others
			item, err := p.value()
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, item)
		}
		_, err = p.Token()
	case string:
		n.Tag, n.Value = "!!str", token
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(token)
	case json.Number:
		n.Tag, n.Value = "!!int", token.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, err
}
