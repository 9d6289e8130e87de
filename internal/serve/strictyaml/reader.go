// Package strictyaml reads settings strictly, from YAML by a YAML decoder and from JSON by a JSON decoder: every key
// must be known and be there once, every value be of its kind, and all faults are
// told together, each with its line.
//
//	Object           reads a JSON object as nodes
//	Settings         reads a mapping by a table of settings
//	Reader.Struct    reads a mapping into a struct, by its yaml tags
//	Reader.Members   walks a mapping whose keys are known otherwise
//	Reader.List      walks a list
//	Suggest          completes the sentence about a name that is not known
package strictyaml

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/setting"
)

// Fault is something wrong with a text, and where.
type Fault struct {
	Line int
	Text string
}

// Reader walks nodes, and collects what is wrong with them.
type Reader struct {
	// Lenient takes null for left out, and a number for a text, as files written by
	// people have them.
	Lenient bool
	Faults  []Fault
}

// Fault adds a fault at the line of n.
func (r *Reader) Fault(n *yaml.Node, format string, a ...any) {
	r.Faults = append(r.Faults, Fault{n.Line, fmt.Sprintf(format, a...)})
}

// Members calls each for every member of a mapping. Its keys must be among known,
// unless that is nil, and be there once. what names the mapping in faults: "a rule".
func (r *Reader) Members(n *yaml.Node, what string, known []string, each func(key, value *yaml.Node)) {
	n = behind(n)
	if n.Kind != yaml.MappingNode {
		r.Fault(n, "%s must be settings by their names", what)
		return
	}
	lines := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], behind(n.Content[i+1])
		first, twice := lines[key.Value]
		lines[key.Value] = key.Line
		null := value.Tag == "!!null"
		switch {
		case known != nil && !slices.Contains(known, key.Value):
			r.Fault(key, "%q is not a setting of %s; %s", key.Value, what, Suggest(key.Value, known))
		case twice:
			r.Fault(key, "%s is in line %d already", key.Value, first)
		case null && !r.Lenient:
			r.Fault(value, "%s must not be null: leave it out", key.Value)
		case !null:
			each(key, value)
		}
	}
}

// List calls each for every item of a list.
func (r *Reader) List(n *yaml.Node, name string, each func(item *yaml.Node)) {
	n = behind(n)
	if n.Kind != yaml.SequenceNode {
		r.Fault(n, "%s must be a list", name)
		return
	}
	for _, item := range n.Content {
		each(item)
	}
}

// Settings reads a mapping into s, by a table of settings; idName is a further member, a string. What the mapping leaves
// out stays as it is, and so does what the servers set by themselves, whatever the mapping says of it. Bounds are not
// checked.
func Settings[T any](r *Reader, n *yaml.Node, what string, table setting.Table[T], s *T, idName string, id *string) {
	names := []string{idName}
	for i := range table {
		names = append(names, table[i].Name)
	}
	r.Members(n, what, names, func(key, value *yaml.Node) {
		x := table.Find(key.Value)
		switch {
		case x == nil:
			r.Value(value, idName, id)
		case !x.Own:
			within := Reader{Lenient: r.Lenient || x.Of != ""} // an event's settings may be numbers
			if x.Decode(s, func(at any) error { return within.read(value, x.Name, at) }) != nil {
				r.Faults = append(r.Faults, within.Faults...)
			}
		}
	})
}

// Struct reads a mapping into the struct that target points to. What the mapping
// leaves out stays as it is. The fields are whole numbers, texts, structs, and lists
// and maps of those; what names the struct in faults: "a policy".
func (r *Reader) Struct(n *yaml.Node, what string, target any) {
	r.members(n, what, reflect.ValueOf(target).Elem())
}

func (r *Reader) members(n *yaml.Node, what string, target reflect.Value) {
	names := Names(target.Interface())
	r.Members(n, what, names, func(key, value *yaml.Node) {
		r.value(value, key.Value, target.Field(slices.Index(names, key.Value)))
	})
}

// Names returns the keys that a struct has in YAML, in the order of its fields.
func Names(of any) []string {
	var names []string
	for field := range reflect.TypeOf(of).Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		names = append(names, name)
	}
	return names
}

// Value reads what the key name has into what target points to.
func (r *Reader) Value(n *yaml.Node, name string, target any) {
	r.value(n, name, reflect.ValueOf(target).Elem())
}

// errFaults: what is wrong is among the reader's faults.
var errFaults = errors.New("strictyaml: faults")

// read is Value, with an error if there are faults.
func (r *Reader) read(n *yaml.Node, name string, target any) error {
	if r.Value(n, name, target); len(r.Faults) > 0 {
		return errFaults
	}
	return nil
}

// value reads what the key name has.
func (r *Reader) value(n *yaml.Node, name string, target reflect.Value) {
	n = behind(n)
	scalar := n.Kind == yaml.ScalarNode
	if typed, ok := reflect.TypeAssert[encoding.TextUnmarshaler](target.Addr()); ok && scalar {
		if err := typed.UnmarshalText([]byte(n.Value)); err != nil {
			r.Fault(n, "%s %v", name, err)
		}
		return
	}
	switch target.Kind() {
	case reflect.Struct:
		r.members(n, article(strings.ToLower(target.Type().Name())), target)
	case reflect.Slice:
		r.List(n, name, func(item *yaml.Node) {
			one := reflect.New(target.Type().Elem()).Elem()
			r.value(item, name, one)
			target.Set(reflect.Append(target, one))
		})
	case reflect.Map:
		all := reflect.MakeMap(target.Type())
		r.Members(n, name, nil, func(key, value *yaml.Node) {
			one := reflect.New(target.Type().Elem()).Elem()
			r.value(value, name+"."+key.Value, one)
			all.SetMapIndex(reflect.ValueOf(key.Value).Convert(target.Type().Key()), one)
		})
		target.Set(all)
	case reflect.Bool:
		if !scalar || n.Tag != "!!bool" || n.Decode(target.Addr().Interface()) != nil {
			r.Fault(n, "%s must be true or false", name)
		}
	case reflect.Int64:
		// Decimal, always: YAML 1.1 takes 0600 for an octal number, and nobody who writes it means 384.
		number, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 10, 64)
		if !scalar || n.Tag != "!!int" || err != nil {
			r.Fault(n, "%s must be a whole number", name)
			return
		}
		target.SetInt(number)
	default:
		if !scalar || n.Tag != "!!str" && !r.Lenient {
			r.Fault(n, "%s must be a string", name)
			return
		}
		target.SetString(n.Value)
	}
}

// article puts a or an before a noun, and nothing before one in the plural.
func article(noun string) string {
	switch {
	case strings.HasSuffix(noun, "s"):
		return noun
	case strings.ContainsRune("aeiou", rune(noun[0])):
		return "an " + noun
	}
	return "a " + noun
}

// behind is what an alias stands for.
func behind(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// Suggest completes the sentence about a name that is not known: which other may be
// meant, else which there are.
func Suggest(name string, known []string) string {
	if nearest := Nearest(name, known); nearest != "" {
		return fmt.Sprintf("did you mean %q?", nearest)
	}
	return "known are " + strings.Join(known, ", ")
}

// Nearest is the known name that may be meant by another, which differs in at most two
// letters, or a third of them; "" for none.
func Nearest(name string, known []string) (nearest string) {
	least := max(2, len(name)/3) + 1
	for _, k := range known {
		if d := levenshtein.Distance(strings.ToLower(name), strings.ToLower(k), nil); d < least {
			nearest, least = k, d
		}
	}
	return nearest
}
