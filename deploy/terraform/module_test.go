package terraform

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

const now = "2026-12-01T09:00:00Z"

// all loads every module and example, by its folder.
func all(t *testing.T) map[string]*Module {
	t.Helper()
	modules := make(map[string]*Module)
	for _, pattern := range []string{"modules/*", "examples/*"} {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				continue
			}
			m, err := Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			modules[filepath.ToSlash(dir)] = m
		}
	}
	if len(modules) < 4 {
		t.Fatalf("found %d modules: did they move?", len(modules))
	}
	return modules
}

// inputs are values for those of the module's variables that have no default.
func inputs(t *testing.T, m *Module) map[string]cty.Value {
	t.Helper()
	values, err := m.Sample()
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func TestFilesAreFormatted(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"modules/*/*.tf", "examples/*/*.tf", "examples/*/*.tfvars*", ".tflint.hcl"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(hclwrite.Format(text)) != string(text) {
				t.Errorf("%s is not formatted: terraform fmt", file)
			}
		}
	}
}

// Every variable says what it is for, of which type it is, and refuses what
// makes no sense; so does none of the defaults.
func TestVariables(t *testing.T) {
	t.Parallel()
	for dir, m := range all(t) {
		values := inputs(t, m)
		if _, err := m.Evaluate(Given{Variables: values, Now: now}); err != nil {
			t.Errorf("%s refuses values that are good: %v", dir, err)
			continue
		}
		for _, b := range m.Of("variable") {
			name := b.Labels[0]
			kind, ok := typeOf(b)
			if !ok {
				t.Errorf("%s: variable %s has no type", dir, name)
			}
			if d := literal(b, "description"); len(strings.Fields(d)) < 2 {
				t.Errorf("%s: variable %s has the description %q", dir, name, d)
			}
			if a, ok := b.Body.Attributes["nullable"]; !ok || !isFalse(a.Expr) {
				t.Errorf("%s: variable %s may be null, which no module expects: nullable = false", dir, name)
			}
			if kind != "string" && kind != "number" {
				continue // of a bool there is no wrong one
			}
			bad := cty.StringVal("it's `no` \"such\"\n: thing %{ of\tours")
			if kind == "number" {
				bad = cty.NumberFloatVal(-1.5)
			}
			changed := map[string]cty.Value{name: bad}
			for k, v := range values {
				if k != name {
					changed[k] = v
				}
			}
			if _, err := m.Evaluate(Given{Variables: changed, Now: now}); !errors.Is(err, ErrRefused) {
				t.Errorf("%s: variable %s takes %#v: %v", dir, name, bad, err)
			}
		}
		for _, b := range m.Of("output") {
			if d := literal(b, "description"); len(strings.Fields(d)) < 2 {
				t.Errorf("%s: output %s has the description %q", dir, b.Labels[0], d)
			}
		}
	}
}

func typeOf(b *hclsyntax.Block) (string, bool) {
	a, ok := b.Body.Attributes["type"]
	if !ok || len(a.Expr.Variables()) != 1 {
		return "", ok
	}
	return a.Expr.Variables()[0].RootName(), true
}

func literal(b *hclsyntax.Block, name string) string {
	a, ok := b.Body.Attributes[name]
	if !ok {
		return ""
	}
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

func isFalse(expr hclsyntax.Expression) bool {
	v, diags := expr.Value(nil)
	return !diags.HasErrors() && v.Type() == cty.Bool && v.False()
}

// Every expression can be worked out as far as it is known: what it refers to is
// there, and functions are given what they take.
func TestExpressions(t *testing.T) {
	t.Parallel()
	for dir, m := range all(t) {
		e, err := m.Evaluate(Given{Variables: inputs(t, m), Now: now})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range m.Of("locals") {
			for name := range b.Body.Attributes {
				if _, err := e.Value("local." + name); err != nil {
					t.Errorf("%s: %v", dir, err)
				}
			}
			checkArguments(t, e, b)
		}
		for _, kind := range []string{"resource", "data", "ephemeral", "module", "output"} {
			for _, b := range m.Of(kind) {
				checkArguments(t, e, b)
			}
		}
	}
}

func checkArguments(t *testing.T, e *Evaluated, b *hclsyntax.Block) {
	t.Helper()
	for name := range b.Body.Attributes {
		if name == "depends_on" || name == "ignore_changes" {
			continue // names, not values
		}
		if _, err := e.Argument(b, name); err != nil {
			t.Errorf("%s: %s of %s: %v", e.Dir, name, Address(b), err)
		}
	}
	for _, inner := range b.Body.Blocks {
		checkArguments(t, e, inner)
	}
}
