package openapi

import (
	"bytes"
	_ "embed" // the documents
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/serve"
)

// The texts of the documents.
var (
	//go:embed public/openapi.yaml
	publicYAML []byte
	//go:embed operators/openapi.yaml
	operatorsYAML []byte
	//go:embed limits/openapi.yaml
	limitsYAML []byte
	//go:embed site/openapi.yaml
	siteYAML []byte
)

// The documents of the four listeners.
var (
	Public    = newDocument(publicYAML)
	Operators = newDocument(operatorsYAML)
	Limits    = newDocument(limitsYAML)
	Site      = newDocument(siteYAML)
)

// Document describes one listener. It may be used by many goroutines.
type Document struct {
	yaml version
	// json makes the document in JSON when it is first called. Most servers never need it.
	json func() (version, error)
}

// version is a document in one notation.
type version struct {
	body []byte
	etag string
}

func newDocument(text []byte) *Document {
	return &Document{
		yaml: version{text, serve.Version(text)},
		json: sync.OnceValues(func() (version, error) {
			body, err := toJSON(text)
			if err != nil {
				return version{}, err
			}
			return version{body, serve.Version(body)}, nil
		}),
	}
}

// YAML returns the document as it is written. The slice is shared: it must not
// be changed.
func (d *Document) YAML() []byte { return d.yaml.body }

// JSON returns the document in JSON, its members in the same order. The slice
// is shared: it must not be changed. An error means that the document is not
// plain YAML, which the tests rule out.
func (d *Document) JSON() ([]byte, error) {
	v, err := d.json()
	return v.body, err
}

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
