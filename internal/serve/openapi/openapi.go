package openapi

import (
	_ "embed" // the documents
	"encoding/json"
	"fmt"
	"sync"

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

// JSON returns the document in JSON. The slice is shared: it must not be changed. An error means that the document is not
// plain YAML, which the tests rule out.
func (d *Document) JSON() ([]byte, error) {
	v, err := d.json()
	return v.body, err
}

// toJSON returns a YAML document in JSON, the members of each object in the order of the alphabet.
func toJSON(text []byte) ([]byte, error) {
	var doc any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	body, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return body, nil
}
