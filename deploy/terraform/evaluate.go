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
	variables, err := m.variables(given.Variables)
	if err != nil {
		return nil, err
	}
	known := map[string]any{"data": map[string]any{}, "ephemeral": map[string]any{}}
	for _, b := range m.Blocks {
		if slices.Contains([]string{"resource", "module", "data", "ephemeral"}, b.Type) {
			put(known, Address(b), cty.DynamicVal)
		}
	}
	for address, v := range given.Known {
		put(known, address, v)
	}
	put(known, "path.module", cty.StringVal(m.Dir))
	put(known, "path.root", cty.StringVal(m.Dir))
	e := &Evaluated{Module: m, context: &hcl.EvalContext{Variables: object(known).AsValueMap(), Functions: functions(given.Now)}}
	e.context.Variables["var"] = cty.ObjectVal(variables)
	if err := e.validate(); err != nil {
		return nil, err
	}
	e.locals(given.Locals)
	return e, nil
}

// variables returns the value of each, converted to its type.
func (m *Module) variables(given map[string]cty.Value) (map[string]cty.Value, error) {
	values := make(map[string]cty.Value)
	for _, b := range m.Of("variable") {
		name := b.Labels[0]
		wanted, diags := typeexpr.TypeConstraint(b.Body.Attributes["type"].Expr)
		value, ok := given[name]
		if preset, has := b.Body.Attributes["default"]; !ok && has {
			var wrong hcl.Diagnostics
			value, wrong = preset.Expr.Value(nil)
			diags = append(diags, wrong...)
		} else if !ok {
			return nil, fmt.Errorf("terraform: variable %s has no value", name)
		}
		if diags.HasErrors() {
			return nil, fmt.Errorf("terraform: variable %s: %w", name, diags)
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
			says, more := v.Body.Attributes["error_message"].Expr.Value(e.context)
			if diags = append(diags, more...); diags.HasErrors() {
				return fmt.Errorf("terraform: validation of %s: %w", b.Labels[0], diags)
			}
			if ok.IsKnown() && ok.False() {
				refused = append(refused, fmt.Errorf("%w: %s: %s", ErrRefused, b.Labels[0], says.AsString()))
			}
		}
	}
	return errors.Join(refused...)
}

// put sets the value at an address.
func put(in map[string]any, address string, v cty.Value) {
	name, rest, below := strings.Cut(address, ".")
	if !below {
		in[name] = v
		return
	}
	inner, is := in[name].(map[string]any)
	if !is {
		inner = make(map[string]any)
		in[name] = inner
	}
	put(inner, rest, v)
}

// object turns what put has made into a value.
func object(of any) cty.Value {
	if v, is := of.(cty.Value); is {
		return v
	}
	values := make(map[string]cty.Value)
	tree, _ := of.(map[string]any)
	for name, v := range tree {
		values[name] = object(v)
	}
	return cty.ObjectVal(values)
}

// locals works them out, again and again until nothing more becomes known. One that
// cannot be worked out stays unknown. Those that are given need not be.
func (e *Evaluated) locals(given map[string]cty.Value) {
	values := make(map[string]cty.Value)
	for _, b := range e.Of("locals") {
		for name := range b.Body.Attributes {
			values[name] = cty.DynamicVal
		}
	}
	maps.Copy(values, given)
	for more := true; more; {
		more = false
		e.context.Variables["local"] = cty.ObjectVal(values)
		for _, b := range e.Of("locals") {
			for name, a := range b.Body.Attributes {
				if _, is := given[name]; is {
					continue
				}
				if v, diags := a.Expr.Value(e.context); !diags.HasErrors() && !v.RawEquals(values[name]) {
					values[name], more = v, true
				}
			}
		}
	}
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
	if err == nil {
		v, err = convert.Convert(v, cty.String)
	}
	if err != nil {
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
	// Unknown are each, count, self, and the iterators of dynamic blocks, which have
	// the blocks' names.
	context := e.context.NewChild()
	context.Variables = make(map[string]cty.Value)
	for _, t := range a.Expr.Variables() {
		if _, ok := e.context.Variables[t.RootName()]; !ok {
			context.Variables[t.RootName()] = cty.DynamicVal
		}
	}
	v, diags := a.Expr.Value(context)
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("terraform: %s: %w", Address(b), diags)
	}
	return v, nil
}
