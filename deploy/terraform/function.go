package terraform

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"github.com/zclconf/go-cty/cty/gocty"
	"gopkg.in/yaml.v3"
)

// functions are those of Terraform that the modules call. dir is what file names
// that are not absolute start from, now what plantimestamp says.
func functions(dir, now string) map[string]function.Function {
	at := func(name string) string {
		if filepath.IsAbs(name) || strings.HasPrefix(name, dir) {
			return name
		}
		return filepath.Join(dir, name)
	}
	f := map[string]function.Function{
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "max": stdlib.MaxFunc, "min": stdlib.MinFunc,
		"chomp": stdlib.ChompFunc, "coalesce": stdlib.CoalesceFunc, "compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc,
		"contains": stdlib.ContainsFunc, "distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc,
		"format": stdlib.FormatFunc, "formatlist": stdlib.FormatListFunc, "indent": stdlib.IndentFunc, "join": stdlib.JoinFunc,
		"jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc, "keys": stdlib.KeysFunc, "length": length,
		"lookup": stdlib.LookupFunc, "lower": stdlib.LowerFunc, "merge": stdlib.MergeFunc, "range": stdlib.RangeFunc,
		"regex": stdlib.RegexFunc, "regexall": stdlib.RegexAllFunc, "replace": stdlib.ReplaceFunc, "reverse": stdlib.ReverseListFunc,
		"slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "split": stdlib.SplitFunc, "substr": stdlib.SubstrFunc,
		"timeadd": stdlib.TimeAddFunc, "title": stdlib.TitleFunc, "trim": stdlib.TrimFunc, "trimprefix": stdlib.TrimPrefixFunc,
		"trimspace": stdlib.TrimSpaceFunc, "trimsuffix": stdlib.TrimSuffixFunc, "upper": stdlib.UpperFunc, "values": stdlib.ValuesFunc,
		"zipmap": stdlib.ZipmapFunc, "tonumber": stdlib.MakeToFunc(cty.Number), "tostring": stdlib.MakeToFunc(cty.String),
		"tobool": stdlib.MakeToFunc(cty.Bool), "tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)),
		"toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)), "tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
		"can": tryfunc.CanFunc, "try": tryfunc.TryFunc,

		"startswith": ofStrings(cty.Bool, func(a ...string) (any, error) { return strings.HasPrefix(a[0], a[1]), nil }, "string", "prefix"),
		"endswith":   ofStrings(cty.Bool, func(a ...string) (any, error) { return strings.HasSuffix(a[0], a[1]), nil }, "string", "suffix"),
		"strcontains": ofStrings(cty.Bool, func(a ...string) (any, error) {
			return strings.Contains(a[0], a[1]), nil
		}, "string", "part"),
		"base64encode": ofStrings(cty.String, func(a ...string) (any, error) {
			return base64.StdEncoding.EncodeToString([]byte(a[0])), nil
		}, "string"),
		"base64gzip": ofStrings(cty.String, func(a ...string) (any, error) {
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			_, err := w.Write([]byte(a[0]))
			err = errors.Join(err, w.Close())
			return base64.StdEncoding.EncodeToString(packed.Bytes()), err
		}, "string"),
		"one":           one,
		"plantimestamp": ofStrings(cty.String, func(...string) (any, error) { return now, nil }),
		"timecmp":       ofStrings(cty.Number, func(a ...string) (any, error) { return compareTimes(a[0], a[1]) }, "a", "b"),
		"file": ofStrings(cty.String, func(a ...string) (any, error) {
			text, err := os.ReadFile(at(a[0]))
			return string(text), err
		}, "path"),
		"cidrhost":   cidrHost,
		"cidrsubnet": cidrSubnet,
		"yamldecode": yamlDecode,
		"alltrue":    ofBools(func(n, all int) bool { return n == all }),
		"anytrue":    ofBools(func(n, _ int) bool { return n > 0 }),
	}
	f["templatefile"] = function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "vars", Type: cty.DynamicPseudoType, AllowUnknown: true}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if !args[1].IsWhollyKnown() {
				return cty.UnknownVal(cty.String), nil
			}
			text, err := render(at(args[0].AsString()), args[1].AsValueMap(), f)
			return cty.StringVal(text), err
		},
	})
	return f
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

// ofStrings makes a function of strings.
func ofStrings(returns cty.Type, f func(...string) (any, error), names ...string) function.Function {
	spec := &function.Spec{Type: function.StaticReturnType(returns)}
	for _, name := range names {
		spec.Params = append(spec.Params, function.Parameter{Name: name, Type: cty.String})
	}
	spec.Impl = func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		texts := make([]string, len(args))
		for i, a := range args {
			texts[i] = a.AsString()
		}
		v, err := f(texts...)
		if err != nil {
			return cty.UnknownVal(returns), err
		}
		return gocty.ToCtyValue(v, returns)
	}
	return function.New(spec)
}

// ofBools makes a function of how many of a list are true.
func ofBools(f func(n, all int) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			n := 0
			for _, v := range args[0].AsValueSlice() {
				if v.True() {
					n++
				}
			}
			return cty.BoolVal(f(n, args[0].LengthInt())), nil
		},
	})
}

// one is the only element of a list, or null where there is none.
var one = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		switch elements := args[0].AsValueSlice(); len(elements) {
		case 0:
			return cty.NullVal(cty.DynamicPseudoType), nil
		case 1:
			return elements[0], nil
		default:
			return cty.DynamicVal, fmt.Errorf("there are %d", len(elements))
		}
	},
})

// length is that of a collection, or of a string.
var length = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "of", Type: cty.DynamicPseudoType, AllowDynamicType: true}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if args[0].Type() == cty.String {
			return stdlib.Strlen(args[0])
		}
		return stdlib.Length(args[0])
	},
})

// compareTimes is timecmp: -1, 0 or 1.
func compareTimes(a, b string) (int, error) {
	x, err := time.Parse(time.RFC3339, a)
	if err != nil {
		return 0, err
	}
	y, err := time.Parse(time.RFC3339, b)
	if err != nil {
		return 0, err
	}
	return x.Compare(y), nil
}

// number returns an argument that must be a whole one, of at most 32 bits.
func number(v cty.Value) (uint32, error) {
	var n uint32
	err := gocty.FromCtyValue(v, &n)
	return n, err
}

// address4 is the n-th address from a on.
func address4(a netip.Addr, n uint32) netip.Addr {
	b := a.As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+n)
	return netip.AddrFrom4(b)
}

// errIPv4: the modules have no other networks.
var errIPv4 = errors.New("not an IPv4 network")

func network4(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err == nil && !p.Addr().Is4() {
		err = errIPv4
	}
	return p.Masked(), err
}

var cidrHost = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "prefix", Type: cty.String}, {Name: "host", Type: cty.Number}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		p, err := network4(args[0].AsString())
		if err != nil {
			return cty.UnknownVal(cty.String), err
		}
		n, err := number(args[1])
		return cty.StringVal(address4(p.Addr(), n).String()), err
	},
})

var cidrSubnet = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "prefix", Type: cty.String}, {Name: "bits", Type: cty.Number}, {Name: "number", Type: cty.Number}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		p, err := network4(args[0].AsString())
		if err != nil {
			return cty.UnknownVal(cty.String), err
		}
		more, err := number(args[1])
		if err != nil {
			return cty.UnknownVal(cty.String), err
		}
		n, err := number(args[2])
		if err != nil {
			return cty.UnknownVal(cty.String), err
		}
		bits := p.Bits() + int(more)
		if bits > 32 || n >= 1<<more {
			return cty.UnknownVal(cty.String), fmt.Errorf("%v has no subnet %d of %d more bits", p, n, more)
		}
		return cty.StringVal(netip.PrefixFrom(address4(p.Addr(), n<<(32-bits)), bits).String()), nil
	},
})

// yamlDecode tells what the document is: the modules look no further than at its
// keys.
var yamlDecode = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "text", Type: cty.String}},
	Type:   function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(args[0].AsString()), &document); err != nil {
			return cty.DynamicVal, err
		}
		if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
			return cty.StringVal(args[0].AsString()), nil
		}
		of := make(map[string]cty.Value)
		for i := 0; i < len(document.Content[0].Content); i += 2 {
			of[document.Content[0].Content[i].Value] = cty.DynamicVal
		}
		return cty.ObjectVal(of), nil
	},
})
