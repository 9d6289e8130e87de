package route

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Listener is what a document is made of.
type Listener struct {
	Title, Doc string
	// Tags group the calls, and Schemes are what a call may ask for; each has its description.
	Tags    []Tag
	Schemes Object
	Routes  []Route
	// Everywhere are the codes of problems that no call is described to answer with.
	Everywhere []string
	// Paths is a struct whose fields are the parts of paths, and Changer one whose fields are those of a call that changes something:
	// parameters of its request. Warning is one whose fields are headers of its answer.
	Paths, Changer, Warning any
	// Strict says that a member which is not described is a fault of a body.
	Strict bool
	// Shared are the names of fields that have one schema wherever they are, that of the field of Paths, and the schema's name.
	Shared map[string]string
	// Names are the types that have a schema of their own, Enums the values of types that have few, and Schemas make the schemas
	// of types that tags cannot describe.
	Names   map[reflect.Type]Named
	Enums   map[reflect.Type]any
	Schemas map[reflect.Type]func(*Describer) Object
	// Problem returns what is known of a problem by its code.
	// faults are examples of those that invalid_request tells.
	Problem func(code string, faults []string) Problem
}

// Named is a schema's name and description. Closed says that a body which has it may have no other members.
type Named struct {
	Name, Doc string
	Closed    bool
}

// Tag is a group of calls.
type Tag struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
}

// Describer makes one document.
type Describer struct {
	listener *Listener
	schemas  Object
	headers  Object
	codes    []string
}

// Describe returns the document, in YAML. It panics where the tags of a type cannot be read.
func (l *Listener) Describe() []byte {
	d := &Describer{listener: l}
	for _, t := range slices.SortedFunc(maps.Keys(l.Names), func(a, b reflect.Type) int { return strings.Compare(l.Names[a].Name, l.Names[b].Name) }) {
		d.Schema(t)
	}
	var paths Object
	for _, r := range l.Routes {
		item, _ := paths.Get(r.Path).(Object)
		if item == nil {
			if parts := d.pathParams(&r); len(parts) > 0 {
				item = Object{{"parameters", parts}}
			}
		}
		item = item.With(strings.ToLower(r.Method), d.operation(&r, false))
		if r.Head {
			item = item.With("head", d.operation(&r, true))
		}
		paths = paths.With(r.Path, item)
	}
	var responses Object
	for _, code := range slices.Concat(d.codes, l.Everywhere) {
		if responses.index(code) < 0 {
			responses = responses.With(code, d.refusal([]string{code}, nil))
		}
	}
	// The codes are those of this listener.
	if problem, ok := d.schemas.Get("Problem").(Object); ok {
		properties, _ := problem.Get("properties").(Object)
		code, _ := properties.Get("code").(Object)
		all := make([]string, len(responses))
		for i, r := range responses {
			all[i] = r.Name
		}
		d.schemas = d.schemas.With("Problem", problem.With("properties", properties.With("code", code.With("enum", all))))
	}
	components := Object{{"headers", d.headers}, {"responses", responses}, {"schemas", d.schemas}}
	if len(l.Schemes) > 0 {
		components = append(Object{{"securitySchemes", l.Schemes}}, components...)
	}
	var b bytes.Buffer
	to := yaml.NewEncoder(&b)
	to.SetIndent(2)
	if err := to.Encode(Object{
		{"openapi", "3.0.3"},
		{"info", Object{
			{"title", l.Title},
			{"version", "1.0.0"},
			{"license", Object{{"name", "Apache-2.0"}, {"url", "https://www.apache.org/licenses/LICENSE-2.0"}}},
			{"description", l.Doc},
		}},
		{"servers", []Object{{{"url", "/"}, {"description", "The server that this document came from."}}}},
		{"tags", l.Tags},
		{"paths", paths},
		{"components", components},
	}); err != nil {
		panic("route: " + err.Error())
	}
	return b.Bytes()
}

var pathPart = regexp.MustCompile(`\{(\w+)\}`)

// pathParams are the parameters of a path.
func (d *Describer) pathParams(r *Route) (all []Object) {
	known := d.params(d.listener.Paths)
	if r.Part != nil {
		known = append(d.params(r.Part), known...)
	}
	for _, part := range pathPart.FindAllStringSubmatch(r.Path, -1) {
		i := slices.IndexFunc(known, func(p Object) bool { return p.Get("name") == part[1] })
		all = append(all, known[i].With("in", "path").With("required", true))
	}
	return all
}

// params describes the fields of a struct as parameters: of the query, or of headers, whose names begin with a capital.
func (d *Describer) params(of any) (all []Object) {
	for f := range fields(reflect.TypeOf(of)) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		in := "query"
		if name[0] >= 'A' && name[0] <= 'Z' {
			in = "header"
		}
		p := Object{{"name", name}, {"in", in}}
		all = append(all, append(p, d.apart(f)...))
	}
	return all
}

// apart describes a field with its description beside its schema.
func (d *Describer) apart(f reflect.StructField) (p Object) {
	s := d.property(f)
	if of, ok := s.Get("allOf").([]Object); ok { // a schema of its own
		p, s = s[s.index("allOf")+1:], of[0]
		return append(slices.Clone(p), Member{"schema", s})
	}
	if i := s.index("description"); i >= 0 {
		p = Object{s[i]}
		s = slices.Delete(s, i, i+1)
	}
	return append(p, Member{"schema", s})
}

// operation describes a call; head, as HEAD answers it.
func (d *Describer) operation(r *Route, head bool) Object {
	op := Object{{"operationId", r.ID}, {"tags", []string{r.Tag}}, {"summary", r.Summary}}
	if head {
		op = Object{{"operationId", r.ID + "Head"}, {"tags", []string{r.Tag}}, {"summary", "As " + r.Method + ", without the body"}}
	}
	if doc := strings.TrimSpace(r.Doc + "\n\n" + r.Needs()); doc != "" {
		op = op.With("description", doc)
	}
	if r.Role != "" {
		op = op.With("x-role", string(r.Role))
	}
	if len(r.Security) > 0 {
		var schemes []Object
		for _, scheme := range r.Security {
			one := Object{}
			if scheme != "" {
				one = Object{{scheme, []string{}}}
			}
			schemes = append(schemes, one)
		}
		op = op.With("security", schemes)
	}
	params := r.Params
	if r.Change {
		params = append([]any{d.listener.Changer}, params...)
	}
	var all []Object
	for _, p := range params {
		all = append(all, d.params(p)...)
	}
	if len(all) > 0 {
		op = op.With("parameters", all)
	}
	if r.Body != nil {
		op = op.With("requestBody", d.body(r))
	}
	return op.With("responses", d.responses(r, head))
}

// body describes the body of a call's request.
func (d *Describer) body(r *Route) Object {
	t := reflect.TypeOf(r.Body)
	schema := d.Schema(t)
	if d.listener.Schemas[t] == nil {
		if schema = d.Struct(t, true); !d.listener.Strict {
			schema = slices.DeleteFunc(schema, func(m Member) bool { return m.Name == "additionalProperties" })
		}
		if name := d.listener.Names[t].Name; name != "" {
			d.schemas = d.schemas.With(name+"Change", schema)
			schema = refTo("schemas", name+"Change")
		}
	}
	content := Object{{"schema", schema}}
	var samples Object
	for _, s := range r.Samples {
		samples = samples.With(s.Name, Object{{"summary", s.Summary}, {"value", Parse(s.Body)}})
	}
	if samples != nil {
		content = content.With("examples", samples)
	}
	return Object{{"required", !r.Optional}, {"content", Object{{"application/json", content}}}}
}

// header describes a header by the field of a struct, as a component of the field's name.
func (d *Describer) header(f reflect.StructField) Member {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if d.headers.index(f.Name) < 0 {
		h := d.apart(f)
		if !strings.Contains(options, "omit") {
			h = append(Object{{"required", true}}, h...)
		}
		d.headers = d.headers.With(f.Name, h)
	}
	return Member{name, refTo("headers", f.Name)}
}

func (d *Describer) headersOf(structs ...any) (all Object) {
	for _, s := range structs {
		for f := range fields(reflect.TypeOf(s)) {
			all = append(all, d.header(f))
		}
	}
	return all
}

// status writes a status as OpenAPI names answers.
func status(n int) string { return fmt.Sprint(n) }

// ok reports whether a status is that of an answer with no problem.
func ok(n int) bool { return n < http.StatusMultipleChoices }
