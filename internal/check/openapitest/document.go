package openapitest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/openqueue/waitingroom/internal/openapi"
)

// The documents of the four listeners.
var (
	Public    = newDocument(openapi.Public)
	Operators = newDocument(openapi.Operators, "/", "/console", "/favicon.ico", "/debug", "/metrics")
	Limits    = newDocument(openapi.Limits)
	Site      = newDocument(openapi.Site)
)

// Document is one listener's, ready to judge.
type Document struct {
	load func() (*described, error)
	// pages are for people, Prometheus and the tools of Go: what is there, and below, is neither described nor checked.
	pages []string
	// seen are the answers that were checked and found good.
	seen sync.Map
}

// described is a document that was read and found valid.
type described struct {
	*openapi3.T
	router routers.Router
}

func newDocument(source func() openapi.Document, pages ...string) *Document {
	return &Document{load: sync.OnceValues(func() (*described, error) { return load(source()) }), pages: pages}
}

// Describes reports whether the document has to say what is at the path: all but pages, which change as people
// need, and may be streams.
func (d *Document) Describes(path string) bool {
	return !slices.ContainsFunc(d.pages, func(page string) bool {
		return path == page || page != "/" && strings.HasPrefix(path, page+"/")
	})
}

// registerDecoders has kin-openapi, which knows only a global list, read the media types that the server sends.
var registerDecoders = sync.OnceFunc(func() {
	openapi3filter.RegisterBodyDecoder("application/jwk-set+json", openapi3filter.JSONBodyDecoder)
	for _, text := range []string{"text/html", "application/jwt"} {
		openapi3filter.RegisterBodyDecoder(text, openapi3filter.PlainBodyDecoder)
	}
})

// load reads the document, validates it, every example included, and closes the schemas of answers.
func load(source openapi.Document) (*described, error) {
	registerDecoders()
	doc, err := openapi3.NewLoader().LoadFromData(source)
	if err == nil {
		err = closeAnswers(doc)
	}
	if err == nil {
		err = doc.Validate(context.Background(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaDefaultsValidation(),
			openapi3.EnableSchemaPatternValidation(), openapi3.ProhibitExtensionsWithRef())
	}
	if err != nil {
		return nil, fmt.Errorf("openapitest: the document is not valid: %w", err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("openapitest: %w", err)
	}
	return &described{T: doc, router: router}, nil
}

// closeAnswers forbids, in every object that an answer may hold, the members that are not described. An object that says
// nothing of its members is left alone: it is one that is described elsewhere.
func closeAnswers(doc *openapi3.T) error {
	var all []*openapi3.ResponseRef
	for _, path := range doc.Paths.Map() {
		for _, op := range path.Operations() {
			for _, res := range op.Responses.Map() {
				all = append(all, res)
			}
		}
	}
	for _, res := range doc.Components.Responses {
		all = append(all, res)
	}
	closed := false
	for _, res := range all {
		for _, media := range res.Value.Content {
			if media.Schema == nil {
				continue
			}
			if err := media.Schema.WalkSubtree(func(_ string, ref *openapi3.SchemaRef) error {
				s := ref.Value
				if len(s.Properties) > 0 && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
					s.AdditionalProperties.Has = &closed
				}
				return nil
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Operations returns all that the document describes, sorted, each with its path as in the document:
// "GET /traffic/zones/{zoneId}".
func (d *Document) Operations() ([]string, error) {
	doc, err := d.load()
	if err != nil {
		return nil, err
	}
	var all []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			all = append(all, method+" "+path)
		}
	}
	slices.Sort(all)
	return all, nil
}

// problem is what is looked at of a problem.
type problem struct {
	Code   string `json:"code"`
	Type   string `json:"type"`
	Status int    `json:"status"`
}
