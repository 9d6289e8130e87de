package openapi

import (
	"crypto/sha256"
	_ "embed" // the documents
	"encoding/base64"
	"sync"
)

// The documents, as they are written and served.
var (
	//go:embed public/openapi.yaml
	publicYAML []byte
	//go:embed operators/openapi.yaml
	operatorsYAML []byte
	//go:embed limits/openapi.yaml
	limitsYAML []byte
)

// The documents of the three listeners.
var (
	Public    = newDocument(publicYAML)
	Operators = newDocument(operatorsYAML)
	Limits    = newDocument(limitsYAML)
)

// Document describes one listener. It may be used by many goroutines.
type Document struct {
	yaml version
	// json is made when it is first asked for: most servers never are.
	json func() (version, error)
}

// version is a document in one notation.
type version struct {
	body []byte
	// etag names the body, as a strong validator (RFC 9110, section 8.8.3).
	etag string
}

// etagBytes of a SHA-256 name the body: 128 bits meet no other by chance.
const etagBytes = 16

func newVersion(body []byte) version {
	sum := sha256.Sum256(body)
	return version{body: body, etag: `"` + base64.RawURLEncoding.EncodeToString(sum[:etagBytes]) + `"`}
}

func newDocument(yaml []byte) *Document {
	return &Document{
		yaml: newVersion(yaml),
		json: sync.OnceValues(func() (version, error) {
			body, err := toJSON(yaml)
			if err != nil {
				return version{}, err
			}
			return newVersion(body), nil
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
