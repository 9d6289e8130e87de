package route

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// refTo refers to a component.
func refTo(kind, name string) Object { return Object{{"$ref", "#/components/" + kind + "/" + name}} }

// Ref refers to the schema of that name.
func Ref(name string) Object { return refTo("schemas", name) }

// Schema returns the schema of a type: a reference if the listener names the type, else the schema itself.
func (d *Describer) Schema(t reflect.Type) Object {
	named := d.listener.Names[t]
	if named.Name == "" {
		return d.inline(t)
	}
	if d.schemas.index(named.Name) < 0 {
		s := d.inline(t)
		if named.Closed {
			s = s.With("additionalProperties", false)
		}
		if named.Doc != "" {
			s = append(Object{{"description", named.Doc}}, s...)
		}
		d.schemas = d.schemas.With(named.Name, s)
	}
	return refTo("schemas", named.Name)
}

// inline returns the schema of a type, whatever its name.
func (d *Describer) inline(t reflect.Type) Object {
	if own := d.listener.Schemas[t]; own != nil {
		return own(d)
	}
	var s Object
	switch t.Kind() {
	case reflect.Pointer:
		return nullable(d.Schema(t.Elem()))
	case reflect.Struct:
		return d.Struct(t, false)
	case reflect.Slice:
		return Object{{"type", "array"}, {"items", d.Schema(t.Elem())}}
	case reflect.Map:
		return Object{{"type", "object"}, {"additionalProperties", d.Schema(t.Elem())}}
	case reflect.Bool:
		return Object{{"type", "boolean"}}
	case reflect.Int64, reflect.Uint64:
		s = Object{{"type", "integer"}, {"format", "int64"}, {"minimum", 0}}
	case reflect.Int:
		s = Object{{"type", "integer"}, {"minimum", 0}}
	case reflect.Float64:
		s = Object{{"type", "number"}, {"format", "double"}, {"minimum", 0}}
	default:
		s = Object{{"type", "string"}}
	}
	if values := d.listener.Enums[t]; values != nil {
		s = s.With("enum", values)
	}
	return s
}

// nullable returns the schema with null as a further value.
func nullable(s Object) Object {
	if s.Get("$ref") != nil {
		return Object{{"nullable", true}, {"allOf", []Object{s}}}
	}
	return s.With("nullable", true)
}

// Struct returns the schema of a struct: as it is in an answer, or as a body has it.
func (d *Describer) Struct(t reflect.Type, body bool) Object {
	var required []string
	var properties Object
	for f, tag := range fields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		properties = properties.With(name, d.property(f))
		if body && tag == "body" || !body && (tag == "always" || !strings.Contains(options, "omit")) {
			required = append(required, name)
		}
	}
	s := Object{{"type", "object"}}
	if len(required) > 0 {
		s = s.With("required", required)
	}
	if body {
		s = s.With("additionalProperties", false)
	}
	return s.With("properties", properties)
}

// fields are the fields of a struct that are in its JSON and described, those of embedded structs too, each with its tag required.
func fields(t reflect.Type) func(yield func(reflect.StructField, string) bool) {
	return func(yield func(reflect.StructField, string) bool) {
		for _, f := range reflect.VisibleFields(t) {
			if tag := f.Tag.Get("json"); tag != "" && tag != "-" && f.Tag.Get("doc") != "-" && !yield(f, f.Tag.Get("required")) {
				return
			}
		}
	}
}

// The tags of a schema. Of a list, those of texts are its entries', and of a map, those of lists are its values'.
var (
	tags     = []string{"minimum", "maximum", "maxProperties", "default"}
	textTags = []string{"format", "pattern", "minLength", "maxLength", "enum"}
	listTags = []string{"minItems", "maxItems"}
)

// property returns the schema of a field.
func (d *Describer) property(f reflect.StructField) Object {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	shared := d.listener.Shared[name]
	if shared == "" {
		return d.own(f)
	}
	for of := range fields(reflect.TypeOf(d.listener.Paths)) {
		if of.Tag.Get("json") == name && d.schemas.index(shared) < 0 {
			d.schemas = d.schemas.With(shared, d.own(of))
		}
	}
	return about(Ref(shared), f)
}

// own returns the schema of a field that is no other's.
func (d *Describer) own(f reflect.StructField) Object {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s := d.Schema(t)
	if t != f.Type && !strings.Contains(f.Tag.Get("json"), ",omit") {
		s = nullable(s)
	}
	switch t.Kind() {
	case reflect.Slice:
		if items, ok := s.Get("items").(Object); ok {
			s = s.With("items", tagged(items, f, t.Elem(), textTags))
		}
		s = tagged(s, f, t, listTags)
	case reflect.Map:
		if values, ok := s.Get("additionalProperties").(Object); ok {
			s = s.With("additionalProperties", tagged(tagged(values, f, t.Elem(), listTags), f, t.Elem(), textTags))
		}
	default:
		s = tagged(s, f, t, textTags)
	}
	if f.Tag.Get("nullable") != "" {
		s = nullable(s)
	}
	s = tagged(s, f, t, tags)
	return about(s, f)
}

// about returns the schema with the description and the example of a field.
func about(s Object, f reflect.StructField) Object {
	says := Object{}
	if doc := f.Tag.Get("doc"); doc != "" {
		says = says.With("description", doc)
	}
	says = tagged(says, f, f.Type, []string{"example"})
	if s.Get("$ref") != nil && len(says) > 0 { // beside which nothing counts
		s = Object{{"allOf", []Object{s}}}
	}
	return append(slices.Clip(s), says...)
}

// tagged returns the schema with the tags of a field, whose values are of type t.
func tagged(s Object, f reflect.StructField, t reflect.Type, names []string) Object {
	for _, name := range names {
		switch text := f.Tag.Get(name); {
		case text == "":
		case name == "enum" && t.Kind() == reflect.String:
			s = s.With(name, strings.Split(text, "|"))
		case slices.Contains([]string{"format", "pattern"}, name), t.Kind() == reflect.String && (name == "example" || name == "default"):
			s = s.With(name, text)
		case name == "enum":
			s = s.With(name, []any{Parse(text)})
		default:
			s = s.With(name, Parse(text))
		}
	}
	return s
}

// Parse returns what a text is as YAML; it panics where it is none, which a test of the document sees.
func Parse(text string) *yaml.Node {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		panic("route: " + text + ": " + err.Error())
	}
	plain(&n)
	return n.Content[0]
}

// plain has objects and lists be written as the encoder does. A text stays quoted: some readers take on for true.
func plain(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode {
		n.Style = 0
	}
	for _, of := range n.Content {
		plain(of)
	}
}

// FromJSON returns a value as its JSON is.
func FromJSON(v any) *yaml.Node {
	text, err := json.Marshal(v)
	if err != nil {
		panic("route: " + err.Error())
	}
	return Parse(string(text))
}
