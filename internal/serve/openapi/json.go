package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"
)

// toJSON returns a YAML document in JSON. Members keep their order, which a
// decoder into maps would lose: a reader meets the paths as they were written.
// Aliases, which JSON has no word for, are errors.
func toJSON(text []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	if doc.Kind != yaml.DocumentNode {
		return nil, errors.New("openapi: the document is empty")
	}
	var b bytes.Buffer
	if err := writeNode(&b, doc.Content[0]); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

func writeNode(b *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode:
		return writeList(b, '{', '}', len(n.Content)/2, func(i int) error {
			if err := writeValue(b, n.Content[2*i].Value); err != nil {
				return err
			}
			b.WriteByte(':')
			return writeNode(b, n.Content[2*i+1])
		})
	case yaml.SequenceNode:
		return writeList(b, '[', ']', len(n.Content), func(i int) error { return writeNode(b, n.Content[i]) })
	case yaml.ScalarNode:
		var v any
		if err := n.Decode(&v); err != nil {
			return err
		}
		return writeValue(b, v)
	case yaml.AliasNode:
		return writeNode(b, n.Alias)
	default:
		return fmt.Errorf("line %d: neither a mapping nor a sequence nor a scalar", n.Line)
	}
}

// writeList writes n items, separated by commas.
func writeList(b *bytes.Buffer, opening, closing byte, n int, item func(i int) error) error {
	b.WriteByte(opening)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := item(i); err != nil {
			return err
		}
	}
	b.WriteByte(closing)
	return nil
}

func writeValue(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the line break that Encode adds
	return nil
}
