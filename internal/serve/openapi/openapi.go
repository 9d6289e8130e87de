package openapi

import (
	_ "embed" // the documents
	"sync"

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

func newDocument(yaml []byte) *Document {
	return &Document{
		yaml: version{yaml, serve.Version(yaml)},
		json: sync.OnceValues(func() (version, error) {
			body, err := toJSON(yaml)
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
