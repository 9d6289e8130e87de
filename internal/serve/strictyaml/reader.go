package policyset

import (
	"fmt"
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
// all that is wrong with it. What it does not say is left empty.
func Read(n *yaml.Node) (limit.Policy, []Fault) {
	r := &reader{}
	p := r.policy(n)
	if len(r.faults) == 0 {
		if err := p.Validate(); err != nil {
			for _, text := range Faults(err) {
				r.fault(n, "%s", text)
			}
		}
	}
	return p, r.faults
}

// reader walks the nodes and collects what is wrong with them.
type reader struct{ faults []Fault }

func (r *reader) fault(n *yaml.Node, format string, a ...any) {
	r.faults = append(r.faults, Fault{n.Line, fmt.Sprintf(format, a...)})
}

func (r *reader) policy(n *yaml.Node) (p limit.Policy) {
	r.members(n, "a policy", map[string]func(string, *yaml.Node){
		"name":           into(r, &p.Name),
		"key":            func(name string, n *yaml.Node) { r.list(name, n, func(n *yaml.Node) { r.source(&p, n) }) },
		"rules":          func(name string, n *yaml.Node) { p.Rules = r.rules(name, n) },
		"tiers":          func(name string, n *yaml.Node) { p.Tiers = r.tiers(name, n) },
		"scope":          into(r, &p.Scope),
		"shards":         r.number(&p.Shards),
		"onStoreFailure": into(r, &p.OnStoreFailure),
	})
	return p
}

func (r *reader) source(p *limit.Policy, n *yaml.Node) {
	var s limit.Source
	into(r, &s)("key", n)
	p.Key = append(p.Key, s)
}

func (r *reader) tiers(name string, n *yaml.Node) map[string][]limit.Rule {
	n = behind(n)
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s must be rules by the name of their tier", name)
		return nil
	}
	all := make(map[string][]limit.Rule)
	lines := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if first, twice := lines[key.Value]; twice {
			r.fault(key, "tier %q is in line %d already", key.Value, first)
			continue
		}
		lines[key.Value] = key.Line
		all[key.Value] = r.rules("tier "+key.Value, n.Content[i+1])
	}
	return all
}

func (r *reader) rules(name string, n *yaml.Node) (all []limit.Rule) {
	r.list(name, n, func(n *yaml.Node) {
		var one limit.Rule
		r.members(n, "a rule", map[string]func(string, *yaml.Node){
			"algorithm":     into(r, &one.Algorithm),
			"limit":         r.number(&one.Limit),
			"windowSeconds": r.number(&one.WindowSeconds),
			"burst":         r.number(&one.Burst),
		})
		all = append(all, one)
	})
	return all
}

// members reads a mapping of known names, each at most once.
func (r *reader) members(n *yaml.Node, what string, known map[string]func(string, *yaml.Node)) {
	n = behind(n)
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s must be settings by their names", what)
		return
	}
	lines := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], behind(n.Content[i+1])
		read, ok := known[key.Value]
		first, twice := lines[key.Value]
		lines[key.Value] = key.Line
		switch {
		case !ok:
			r.fault(key, "%q is not a setting of %s; known are %s", key.Value, what, names(known))
		case twice:
			r.fault(key, "%s is in line %d already", key.Value, first)
		case isNull(value):
			r.fault(value, "%s must not be null: leave it out", key.Value)
		default:
			read(key.Value, value)
		}
	}
}

func (r *reader) list(name string, n *yaml.Node, each func(*yaml.Node)) {
	n = behind(n)
	if n.Kind != yaml.SequenceNode {
		r.fault(n, "%s must be a list", name)
		return
	}
	for _, item := range n.Content {
		each(behind(item))
	}
}

// into reads a word.
func into[T ~string](r *reader, target *T) func(string, *yaml.Node) {
	return func(name string, n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
			r.fault(n, "%s must be a string", name)
			return
		}
		*target = T(n.Value)
	}
}

// number reads a whole number.
func (r *reader) number(target *int64) func(string, *yaml.Node) {
	return func(name string, n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(target) != nil {
			r.fault(n, "%s must be a whole number", name)
		}
	}
}

// behind is what an alias stands for.
func behind(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func names(known map[string]func(string, *yaml.Node)) string {
	all := make([]string, 0, len(known))
	for name := range known {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
