package rehearsal

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions are those of Terraform's that our modules use to render. A template that
// needs another one fails, and it is added here.
func functions() map[string]function.Function {
	all := inTemplates()
	all["templatefile"] = templateFile
	return all
}

// inTemplates are the functions that a template has: all but templatefile.
func inTemplates() map[string]function.Function {
	return map[string]function.Function{
		"abs":          stdlib.AbsoluteFunc,
		"base64encode": base64Encode,
		"can":          tryfunc.CanFunc,
		"ceil":         stdlib.CeilFunc,
		"coalesce":     stdlib.CoalesceFunc,
		"compact":      stdlib.CompactFunc,
		"concat":       stdlib.ConcatFunc,
		"contains":     stdlib.ContainsFunc,
		"distinct":     stdlib.DistinctFunc,
		"element":      stdlib.ElementFunc,
		"endswith":     predicate(strings.HasSuffix),
		"file":         fileText,
		"flatten":      stdlib.FlattenFunc,
		"floor":        stdlib.FloorFunc,
		"format":       stdlib.FormatFunc,
		"indent":       stdlib.IndentFunc,
		"join":         stdlib.JoinFunc,
		"jsonencode":   stdlib.JSONEncodeFunc,
		"keys":         stdlib.KeysFunc,
		"length":       stdlib.LengthFunc,
		"lookup":       stdlib.LookupFunc,
		"lower":        stdlib.LowerFunc,
		"max":          stdlib.MaxFunc,
		"merge":        stdlib.MergeFunc,
		"min":          stdlib.MinFunc,
		"range":        stdlib.RangeFunc,
		"regex":        stdlib.RegexFunc,
		"replace":      stdlib.ReplaceFunc,
		"sort":         stdlib.SortFunc,
		"split":        stdlib.SplitFunc,
		"startswith":   predicate(strings.HasPrefix),
		"tobool":       stdlib.MakeToFunc(cty.Bool),
		"tonumber":     stdlib.MakeToFunc(cty.Number),
		"tostring":     stdlib.MakeToFunc(cty.String),
		"trimspace":    stdlib.TrimSpaceFunc,
		"try":          tryfunc.TryFunc,
		"upper":        stdlib.UpperFunc,
		"values":       stdlib.ValuesFunc,
	}
}

func predicate(holds func(text, part string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "part", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(holds(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

var base64Encode = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "text", Type: cty.String}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.StringVal(base64.StdEncoding.EncodeToString([]byte(args[0].AsString()))), nil
	},
})

var fileText = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "path", Type: cty.String}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		text, err := os.ReadFile(args[0].AsString())
		return cty.StringVal(string(text)), err
	},
})

var templateFile = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "vars", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		text, err := os.ReadFile(args[0].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		return render(text, args[0].AsString(), args[1].AsValueMap())
	},
})

// render fills in a template. A variable that it is handed and does not use is a
// mistake as one that it uses and is not handed.
func render(text []byte, name string, vars map[string]cty.Value) (cty.Value, error) {
	e, diags := hclsyntax.ParseTemplate(text, name, hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	used := make(map[string]bool)
	for _, t := range e.Variables() {
		used[t.RootName()] = true
	}
	for v := range vars {
		if !used[v] {
			return cty.NilVal, fmt.Errorf("rehearsal: %s does not use %s", name, v)
		}
	}
	v, diags := e.Value(&hcl.EvalContext{Variables: vars, Functions: inTemplates()})
	return v, failure(diags)
}
