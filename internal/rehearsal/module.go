package rehearsal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// ErrUnknown is wrapped by the error for a name that a module does not have, or that
// nobody has given a value.
var ErrUnknown = errors.New("rehearsal: unknown")

// Inputs are what a module gets from elsewhere, as values that JSON can hold.
type Inputs struct {
	// Variables by name. Those with a default may be left out.
	Variables map[string]any
	// Locals by name, in the place of the module's own.
	Locals map[string]any
	// Resources by address: "aws_ebs_volume.data", "data.aws_region.this". With
	// count, a list; with for_each, a map.
	Resources map[string]any
}

// Module is a Terraform module whose locals can be computed without a provider. It
// is not safe for concurrent use.
type Module struct {
	dir    string
	inputs Inputs
	// locals and defaults are expressions by name.
	locals, defaults map[string]hclsyntax.Expression
	// known are locals that were computed; busy are those that are being.
	known map[string]cty.Value
	busy  map[string]bool
}

// Load reads the module in a folder.
func Load(dir string, in Inputs) (*Module, error) {
	m := &Module{
		dir: dir, inputs: in,
		locals: make(map[string]hclsyntax.Expression), defaults: make(map[string]hclsyntax.Expression),
		known: make(map[string]cty.Value), busy: make(map[string]bool),
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("rehearsal: no module in %s: %w", dir, errors.Join(err, ErrUnknown))
	}
	for _, name := range files {
		if err := m.read(name); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Module) read(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	file, diags := hclsyntax.ParseConfig(text, name, hcl.InitialPos)
	if diags.HasErrors() {
		return diags
	}
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		return fmt.Errorf("%w: body of %s: %T", ErrUnknown, name, file.Body)
	}
	for _, b := range body.Blocks {
		switch b.Type {
		case "locals":
			for name, a := range b.Body.Attributes {
				m.locals[name] = a.Expr
			}
		case "variable":
			if a, ok := b.Body.Attributes["default"]; ok {
				m.defaults[b.Labels[0]] = a.Expr
			}
		}
	}
	return nil
}

// Local computes a local and decodes it as JSON would be.
func (m *Module) Local(name string, into any) error {
	v, err := m.local(name)
	if err != nil {
		return err
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return fmt.Errorf("local.%s: %w", name, err)
	}
	return json.Unmarshal(text, into)
}

func (m *Module) local(name string) (cty.Value, error) {
	if v, ok := m.inputs.Locals[name]; ok {
		return value(v)
	}
	if v, ok := m.known[name]; ok {
		return v, nil
	}
	e, ok := m.locals[name]
	if !ok || m.busy[name] {
		return cty.NilVal, fmt.Errorf("%w: local.%s (or it needs itself)", ErrUnknown, name)
	}
	m.busy[name] = true
	defer delete(m.busy, name)
	v, err := m.evaluate(e)
	if err != nil {
		return cty.NilVal, fmt.Errorf("local.%s: %w", name, err)
	}
	m.known[name] = v
	return v, nil
}

func (m *Module) variable(name string) (cty.Value, error) {
	if v, ok := m.inputs.Variables[name]; ok {
		return value(v)
	}
	if e, ok := m.defaults[name]; ok {
		v, diags := e.Value(nil)
		return v, failure(diags)
	}
	return cty.NilVal, fmt.Errorf("%w: var.%s has no value", ErrUnknown, name)
}

// evaluate computes an expression of the module. Only what it refers to is computed.
func (m *Module) evaluate(e hclsyntax.Expression) (cty.Value, error) {
	path, err := filepath.Abs(m.dir)
	if err != nil {
		return cty.NilVal, err
	}
	scope := scope{"path": {"module": cty.StringVal(path)}}
	for _, t := range e.Variables() {
		if err := m.refer(scope, t); err != nil {
			return cty.NilVal, err
		}
	}
	v, diags := e.Value(&hcl.EvalContext{Variables: scope.values(), Functions: functions()})
	return v, failure(diags)
}

// scope is what an expression sees: kind or type, then name. Data sources have the
// type "data.TYPE".
type scope map[string]map[string]cty.Value

func (s scope) set(root, name string, v cty.Value) {
	if s[root] == nil {
		s[root] = make(map[string]cty.Value)
	}
	s[root][name] = v
}

func (s scope) values() map[string]cty.Value {
	all, data := make(map[string]cty.Value), make(map[string]cty.Value)
	for root, named := range s {
		if kind, isData := cutData(root); isData {
			data[kind] = cty.ObjectVal(named)
			continue
		}
		all[root] = cty.ObjectVal(named)
	}
	if len(data) > 0 {
		all["data"] = cty.ObjectVal(data)
	}
	return all
}

// refer puts into the scope what a reference begins with.
func (m *Module) refer(s scope, t hcl.Traversal) error {
	var names []string
	for _, step := range t {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			names = append(names, step.Name)
		case hcl.TraverseAttr:
			names = append(names, step.Name)
		}
	}
	if len(names) < 2 {
		return nil // the variable of a for expression
	}
	var v cty.Value
	var err error
	root, name := names[0], names[1]
	switch {
	case root == "path":
		return nil
	case root == "var":
		v, err = m.variable(name)
	case root == "local":
		v, err = m.local(name)
	case root == "data" && len(names) > 2:
		root, name = dataPrefix+names[1], names[2]
		v, err = m.resource(root + "." + name)
	default:
		v, err = m.resource(root + "." + name)
		if errors.Is(err, ErrUnknown) {
			return nil // an attribute of a variable of a for expression; HCL reports what is none
		}
	}
	if err != nil {
		return err
	}
	s.set(root, name, v)
	return nil
}

const dataPrefix = "data."

func cutData(root string) (kind string, isData bool) {
	if len(root) > len(dataPrefix) && root[:len(dataPrefix)] == dataPrefix {
		return root[len(dataPrefix):], true
	}
	return root, false
}

func (m *Module) resource(address string) (cty.Value, error) {
	v, ok := m.inputs.Resources[address]
	if !ok {
		return cty.NilVal, fmt.Errorf("%w: %s has no value", ErrUnknown, address)
	}
	return value(v)
}

// value turns what JSON can hold into what HCL computes with.
func value(v any) (cty.Value, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return cty.NilVal, err
	}
	kind, err := ctyjson.ImpliedType(text)
	if err != nil {
		return cty.NilVal, err
	}
	return ctyjson.Unmarshal(text, kind)
}

// failure is nil unless there is an error among the diagnostics.
func failure(diags hcl.Diagnostics) error {
	if diags.HasErrors() {
		return diags
	}
	return nil
}
