package openapi

import _ "embed" // the documents

// Document describes one listener, in YAML. It must not be changed.
type Document []byte

// The documents of the four listeners.
var (
	//go:embed public/openapi.yaml
	Public Document
	//go:embed operators/openapi.yaml
	Operators Document
	//go:embed limits/openapi.yaml
	Limits Document
	//go:embed site/openapi.yaml
	Site Document
)
