package terraform

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// ErrRefused is wrapped by the error for values that a variable's validation
// refuses.
var ErrRefused = errors.New("terraform: refused")

// Given is what an evaluation starts from.
type Given struct {
	// Variables are the module's inputs; those that have a default may be left
	// out.
	Variables map[string]cty.Value
	// Locals take the place of the module's own.
	Locals map[string]cty.Value
	// Known are attributes of resources and data sources, by their address:
	// "data.aws_region.current.region". All others are unknown.
	Known map[string]cty.Value
	// Now is the time of the plan, 2026-12-01T11:00:00Z.
	Now string
}

// Evaluated is a module with values.
type Evaluated struct {
	*Module
	context *hcl.EvalContext
}

// Evaluate gives the module's variables values. The error wraps ErrRefused if a
// validation says no, and then holds what it says.
func (m *Module) Evaluate(given Given) (*Evaluated, error) {
	e := &Evaluated{Module: m, context: &hcl.EvalContext{
		Variables: map[string]cty.Value{"path": cty.ObjectVal(map[string]cty.Value{"module": cty.StringVal(m.Dir), "root": cty.StringVal(m.Dir)})},
		Functions: functions(m.Dir, given.Now),
	}}
	variables, err := m.variables(given.Variables)
	if err != nil {
		return nil, err
	}
	e.context.Variables["var"] = cty.ObjectVal(variables)
	if err := e.validate(); err != nil {
		return nil, err
	}
	e.surroundings(given.Known)
	e.locals(given.Locals)
	return e, nil
}

// variables returns the value of each, converted to its type.
func (m *Module) variables(given map[string]cty.Value) (map[string]cty.Value, error) {
	values := make(map[string]cty.Value)
	for _, b := range m.Of("variable") {
		name := b.Labels[0]
		wanted, diags := typeexpr.TypeConstraint(b.Body.Attributes["type"].Expr)
		if diags.HasErrors() {
			return nil, fmt.Errorf("terraform: variable %s: %w", name, diags)
		}
		value, ok := given[name]
		if preset, has := b.Body.Attributes["default"]; !ok && has {
			if value, diags = preset.Expr.Value(nil); diags.HasErrors() {
				return nil, fmt.Errorf("terraform: variable %s: %w", name, diags)
			}
		} else if !ok {
			return nil, fmt.Errorf("terraform: variable %s has no value", name)
		}
		value, err := convert.Convert(value, wanted)
		if err != nil {
			return nil, fmt.Errorf("terraform: variable %s: %w", name, err)
		}
		values[name] = value
	}
	for name := range given {
		if _, ok := values[name]; !ok {
			return nil, fmt.Errorf("terraform: there is no variable %s", name)
		}
	}
	return values, nil
}

// validate asks every validation.
func (e *Evaluated) validate() error {
	var refused []error
	for _, b := range e.Of("variable") {
		for _, v := range Inner(b, "validation") {
			ok, diags := v.Body.Attributes["condition"].Expr.Value(e.context)
			if diags.HasErrors() {
				return fmt.Errorf("terraform: validation of %s: %w", b.Labels[0], diags)
			}
			if !ok.IsKnown() || ok.True() {
				continue
			}
			says, diags := v.Body.Attributes["error_message"].Expr.Value(e.context)
			if diags.HasErrors() {
				return fmt.Errorf("terraform: validation of %s: %w", b.Labels[0], diags)
			}
			refused = append(refused, fmt.Errorf("%w: %s: %s", ErrRefused, b.Labels[0], says.AsString()))
		}
	}
	return errors.Join(refused...)
}

// surroundings makes known what resources, data sources and modules are called.
func (e *Evaluated) surroundings(known map[string]cty.Value) {
	roots := make(map[string]map[string]cty.Value)
	add := func(root, label string) {
		if roots[root] == nil {
			roots[root] = make(map[string]cty.Value)
		}
		roots[root][label] = cty.DynamicVal
	}
	data, ephemeral := make(map[string]map[string]cty.Value), make(map[string]map[string]cty.Value)
	for _, b := range e.Blocks {
		switch b.Type {
		case "resource":
			add(b.Labels[0], b.Labels[1])
		case "module":
			add("module", b.Labels[0])
		case "data":
			put(data, b.Labels[0], b.Labels[1], attributes("data."+b.Labels[0]+"."+b.Labels[1], known))
		case "ephemeral":
			put(ephemeral, b.Labels[0], b.Labels[1], cty.DynamicVal)
		}
	}
	for root, labels := range roots {
		for label := range labels {
			labels[label] = attributes(root+"."+label, known)
		}
		e.context.Variables[root] = cty.ObjectVal(labels)
	}
	e.context.Variables["data"] = nested(data)
	e.context.Variables["ephemeral"] = nested(ephemeral)
}

func put(in map[string]map[string]cty.Value, a, b string, v cty.Value) {
	if in[a] == nil {
		in[a] = make(map[string]cty.Value)
	}
	in[a][b] = v
}

func nested(in map[string]map[string]cty.Value) cty.Value {
	out := make(map[string]cty.Value)
	for k, v := range in {
		out[k] = cty.ObjectVal(v)
	}
	return cty.ObjectVal(out)
}

// attributes is an object of those known below an address; unknown if there are
// none.
func attributes(address string, known map[string]cty.Value) cty.Value {
	if whole, ok := known[address]; ok {
		return whole
	}
	of := make(map[string]cty.Value)
	for path, v := range known {
		if name, ok := strings.CutPrefix(path, address+"."); ok {
			of[name] = v
		}
	}
	if len(of) == 0 {
		return cty.DynamicVal
	}
	return cty.ObjectVal(of)
}

// locals works them out, each as soon as those that it needs are there. One that
// cannot be worked out stays unknown. Those that are given need not be.
func (e *Evaluated) locals(given map[string]cty.Value) {
	open := make(map[string]hclsyntax.Expression)
	for _, b := range e.Of("locals") {
		for name, a := range b.Body.Attributes {
			open[name] = a.Expr
		}
	}
	done := make(map[string]cty.Value)
	for name := range open {
		done[name] = cty.DynamicVal
	}
	for name, v := range given {
		done[name] = v
		delete(open, name)
	}
	for len(open) > 0 {
		settled := 0
		for _, name := range slices.Sorted(maps.Keys(open)) {
			if slices.ContainsFunc(open[name].Variables(), func(t hcl.Traversal) bool {
				if t.RootName() != "local" || len(t) < 2 {
					return false
				}
				attr, ok := t[1].(hcl.TraverseAttr)
				return ok && open[attr.Name] != nil
			}) {
				continue
			}
			e.context.Variables["local"] = cty.ObjectVal(done)
			if v, diags := open[name].Value(e.context); !diags.HasErrors() {
				done[name] = v
			}
			delete(open, name)
			settled++
		}
		if settled == 0 {
			break // they wait for each other
		}
	}
	e.context.Variables["local"] = cty.ObjectVal(done)
}

// Value works out one expression of the module, such as "local.user_data".
func (e *Evaluated) Value(expression string) (cty.Value, error) {
	expr, diags := hclsyntax.ParseExpression([]byte(expression), "expression", hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("terraform: %w", diags)
	}
	v, diags := expr.Value(e.context)
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("terraform: %w", diags)
	}
	return v, nil
}

// Text is Value for an expression that is known, and a string or a number.
func (e *Evaluated) Text(expression string) (string, error) {
	v, err := e.Value(expression)
	if err != nil {
		return "", err
	}
	if v, err = convert.Convert(v, cty.String); err != nil {
		return "", fmt.Errorf("terraform: %s: %w", expression, err)
	}
	if !v.IsWhollyKnown() || v.IsNull() {
		return "", fmt.Errorf("terraform: %s is not known", expression)
	}
	return v.AsString(), nil
}

// Argument works out an argument of a block; unknown if only AWS knows it, null
// if it is not set.
func (e *Evaluated) Argument(b *hclsyntax.Block, name string) (cty.Value, error) {
	a, ok := b.Body.Attributes[name]
	if !ok {
		return cty.NullVal(cty.DynamicPseudoType), nil
	}
	context := e.context.NewChild()
	context.Variables = map[string]cty.Value{
		"each":  cty.ObjectVal(map[string]cty.Value{"key": cty.DynamicVal, "value": cty.DynamicVal}),
		"count": cty.ObjectVal(map[string]cty.Value{"index": cty.UnknownVal(cty.Number)}),
		"self":  cty.DynamicVal,
	}
	// The iterators of dynamic blocks have the blocks' names.
	for _, t := range a.Expr.Variables() {
		root := t.RootName()
		if _, ok := e.context.Variables[root]; !ok && context.Variables[root] == cty.NilVal {
			context.Variables[root] = cty.DynamicVal
		}
	}
	v, diags := a.Expr.Value(context)
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("terraform: %s: %w", Address(b), diags)
	}
	return v, nil
}

// Render renders one template, as templatefile does.
func Render(file string, variables map[string]cty.Value) (string, error) {
	return render(file, variables, functions(".", ""))
}
