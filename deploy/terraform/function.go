package terraform

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/go-cty-funcs/cidr"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions are those of Terraform that the modules call. now is what plantimestamp
// says.
func functions(now string) map[string]function.Function {
	f := map[string]function.Function{
		"can": tryfunc.CanFunc, "try": tryfunc.TryFunc, "cidrhost": cidr.HostFunc, "cidrsubnet": cidr.SubnetFunc,
		"yamldecode": ctyyaml.YAMLDecodeFunc, "jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc,
		"ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "max": stdlib.MaxFunc, "range": stdlib.RangeFunc, "compact": stdlib.CompactFunc,
		"concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc, "distinct": stdlib.DistinctFunc, "keys": stdlib.KeysFunc,
		"merge": stdlib.MergeFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "join": stdlib.JoinFunc, "regex": stdlib.RegexFunc,
		"regexall": stdlib.RegexAllFunc, "replace": stdlib.ReplaceFunc, "split": stdlib.SplitFunc, "timeadd": stdlib.TimeAddFunc,
		"trimprefix": stdlib.TrimPrefixFunc, "trimspace": stdlib.TrimSpaceFunc, "tonumber": stdlib.MakeToFunc(cty.Number),
		"toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),

		"plantimestamp": of(cty.String, func([]cty.Value) (cty.Value, error) { return cty.StringVal(now), nil }),
		"startswith": of(cty.Bool, func(a []cty.Value) (cty.Value, error) {
			return cty.BoolVal(strings.HasPrefix(a[0].AsString(), a[1].AsString())), nil
		}, cty.String, cty.String),
		"endswith": of(cty.Bool, func(a []cty.Value) (cty.Value, error) {
			return cty.BoolVal(strings.HasSuffix(a[0].AsString(), a[1].AsString())), nil
		}, cty.String, cty.String),
		"timecmp": of(cty.Number, func(a []cty.Value) (cty.Value, error) {
			x, err := time.Parse(time.RFC3339, a[0].AsString())
			y, wrong := time.Parse(time.RFC3339, a[1].AsString())
			return cty.NumberIntVal(int64(x.Compare(y))), errors.Join(err, wrong)
		}, cty.String, cty.String),
		"file": of(cty.String, func(a []cty.Value) (cty.Value, error) {
			text, err := os.ReadFile(a[0].AsString())
			return cty.StringVal(string(text)), err
		}, cty.String),
		"base64gzip": of(cty.String, func(a []cty.Value) (cty.Value, error) {
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			_, err := w.Write([]byte(a[0].AsString()))
			err = errors.Join(err, w.Close())
			return cty.StringVal(base64.StdEncoding.EncodeToString(packed.Bytes())), err
		}, cty.String),
		"alltrue": of(cty.Bool, func(a []cty.Value) (cty.Value, error) {
			all := cty.True
			for _, v := range a[0].AsValueSlice() {
				all = all.And(v)
			}
			return all, nil
		}, cty.List(cty.Bool)),
		"length": of(cty.Number, func(a []cty.Value) (cty.Value, error) {
			if a[0].Type() == cty.String {
				return stdlib.Strlen(a[0])
			}
			return stdlib.Length(a[0])
		}, cty.DynamicPseudoType),
		// The only element of a list, or null where there is none.
		"one": of(cty.DynamicPseudoType, func(a []cty.Value) (cty.Value, error) {
			switch elements := a[0].AsValueSlice(); len(elements) {
			case 0:
				return cty.NullVal(cty.DynamicPseudoType), nil
			case 1:
				return elements[0], nil
			default:
				return cty.DynamicVal, fmt.Errorf("there are %d", len(elements))
			}
		}, cty.DynamicPseudoType),
	}
	f["templatefile"] = of(cty.String, func(a []cty.Value) (cty.Value, error) {
		if !a[1].IsWhollyKnown() {
			return cty.UnknownVal(cty.String), nil
		}
		text, err := render(a[0].AsString(), a[1].AsValueMap(), f)
		return cty.StringVal(text), err
	}, cty.String, cty.DynamicPseudoType)
	return f
}

// of makes a function of values of these types. The result is unknown where one of
// them is.
func of(returns cty.Type, f func([]cty.Value) (cty.Value, error), types ...cty.Type) function.Function {
	spec := &function.Spec{Type: function.StaticReturnType(returns)}
	for i, t := range types {
		spec.Params = append(spec.Params, function.Parameter{Name: fmt.Sprint("argument ", i+1), Type: t})
	}
	spec.Impl = func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f(args) }
	return function.New(spec)
}

// render renders a template with the functions that the module has.
func render(file string, variables map[string]cty.Value, f map[string]function.Function) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("terraform: %w", err)
	}
	template, diags := hclsyntax.ParseTemplate(text, file, hcl.InitialPos)
	if diags.HasErrors() {
		return "", fmt.Errorf("terraform: %w", diags)
	}
	v, diags := template.Value(&hcl.EvalContext{Variables: variables, Functions: f})
	if diags.HasErrors() {
		return "", fmt.Errorf("terraform: %w", diags)
	}
	if v, err = convert.Convert(v, cty.String); err != nil {
		return "", fmt.Errorf("terraform: %s: %w", file, err)
	}
	return v.AsString(), nil
}
