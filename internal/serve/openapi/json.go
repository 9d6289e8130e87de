package openapi

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"gopkg.in/yaml.v3"
)

// toJSON returns a YAML document in JSON. Members keep their order, so that a reader
// finds the paths as they were written. A decoder into maps would lose the order.
func toJSON(text []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	if doc.Kind != yaml.DocumentNode {
		return nil, errors.New("openapi: the document is empty")
	}
	var b bytes.Buffer
	if err := writeNode(jsontext.NewEncoder(&b), doc.Content[0]); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return b.Bytes(), nil
}

func writeNode(e *jsontext.Encoder, n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode:
		err := e.WriteToken(jsontext.BeginObject)
		for i := 0; err == nil && i < len(n.Content); i += 2 {
			err = errors.Join(e.WriteToken(jsontext.String(n.Content[i].Value)), writeNode(e, n.Content[i+1]))
		}
		return errors.Join(err, e.WriteToken(jsontext.EndObject))
	case yaml.SequenceNode:
		err := e.WriteToken(jsontext.BeginArray)
		for i := 0; err == nil && i < len(n.Content); i++ {
			err = writeNode(e, n.Content[i])
		}
		return errors.Join(err, e.WriteToken(jsontext.EndArray))
	case yaml.ScalarNode:
		var v any
		if err := n.Decode(&v); err != nil {
			return err
		}
		return json.MarshalEncode(e, v)
	case yaml.AliasNode:
		return writeNode(e, n.Alias)
	default:
		return fmt.Errorf("line %d: neither a mapping nor a sequence nor a scalar", n.Line)
	}
}
