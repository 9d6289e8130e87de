package policyset

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// Fault is something wrong with a text, and where.
type Fault struct {
	Line int
	Text string
}

// Read reads a policy from YAML, or from JSON, which is YAML: strictly, and with
// all that is wrong with it. What it does not say is left empty; its name is the given
// one where it says none.
func Read(n *yaml.Node, name string) (limit.Policy, []Fault) {
	p := limit.Policy{Name: name}
	r := &reader{}
	r.value("", n, reflect.ValueOf(&p).Elem())
	if len(r.faults) == 0 {
		if err := p.Validate(); err != nil {
			for _, text := range Faults(err) {
				r.fault(n, "%s", text)
			}
		}
	}
	return p, r.faults
}

// reader walks the nodes and collects what is wrong with them. What it reads into says
// what may be there: a struct has members by their yaml tags, and no others.
type reader struct{ faults []Fault }

func (r *reader) fault(n *yaml.Node, format string, a ...any) {
	r.faults = append(r.faults, Fault{n.Line, fmt.Sprintf(format, a...)})
}

// value reads a node, whose name in the text is given, into what fits its kind.
func (r *reader) value(name string, n *yaml.Node, into reflect.Value) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch into.Kind() {
	case reflect.Struct:
		r.members("a "+strings.ToLower(into.Type().Name()), n, into)
	case reflect.Map:
		r.tiers(name, n, into)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			r.fault(n, "%s must be a list", name)
			return
		}
		for _, item := range n.Content {
			one := reflect.New(into.Type().Elem()).Elem()
			r.value(name, item, one)
			into.Set(reflect.Append(into, one))
		}
	case reflect.Int64:
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(into.Addr().Interface()) != nil {
			r.fault(n, "%s must be a whole number", name)
		}
	default:
		if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
			r.fault(n, "%s must be a string", name)
			return
		}
		into.SetString(n.Value)
	}
}

// members reads a mapping into a struct: known names, each at most once.
func (r *reader) members(what string, n *yaml.Node, into reflect.Value) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s must be settings by their names", what)
		return
	}
	known := make(map[string]reflect.Value)
	for field, value := range into.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		known[name] = value
	}
	lines := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		field, ok := known[key.Value]
		first, twice := lines[key.Value]
		lines[key.Value] = key.Line
		switch {
		case !ok:
			r.fault(key, "%q is not a setting of %s; known are %s", key.Value, what,
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case twice:
			r.fault(key, "%s is in line %d already", key.Value, first)
		case value.ShortTag() == "!!null":
			r.fault(value, "%s must not be null: leave it out", key.Value)
		default:
			r.value(key.Value, value, field)
		}
	}
}

// tiers reads a mapping whose names are free.
func (r *reader) tiers(name string, n *yaml.Node, into reflect.Value) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s must be rules by the name of their tier", name)
		return
	}
	into.Set(reflect.MakeMap(into.Type()))
	lines := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if first, twice := lines[key.Value]; twice {
			r.fault(key, "tier %q is in line %d already", key.Value, first)
			continue
		}
		lines[key.Value] = key.Line
		rules := reflect.New(into.Type().Elem()).Elem()
		r.value("tier "+key.Value, n.Content[i+1], rules)
		into.SetMapIndex(reflect.ValueOf(key.Value), rules)
	}
}
