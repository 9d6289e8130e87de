package infrastructure

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/openqueue/waitingroom/deploy/terraform"
)

// region is the one that everything is in.
const region = "eu-central-1"

// folder is the path of a folder, from that of this file.
func folder(name string) string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), name)
}

// modules are the folder of Terraform modules.
var modules = folder("../../../deploy/terraform/modules")

// evaluate works out a module. Values are such as JSON can hold.
func evaluate(t testing.TB, name string, variables, locals, known map[string]any) *terraform.Evaluated {
	t.Helper()
	m, err := terraform.Load(filepath.Join(modules, name))
	if err != nil {
		t.Fatal(err)
	}
	e, err := m.Evaluate(terraform.Given{Variables: values(t, variables), Locals: values(t, locals), Known: values(t, known)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// decode decodes an expression of the module as JSON would be.
func decode(t testing.TB, m *terraform.Evaluated, expression string, into any) {
	t.Helper()
	v, err := m.Value(expression)
	if err != nil {
		t.Fatal(err)
	}
	if !v.IsWhollyKnown() {
		t.Fatalf("%s of %s is not wholly known", expression, m.Dir)
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func values(t testing.TB, all map[string]any) map[string]cty.Value {
	t.Helper()
	out := make(map[string]cty.Value, len(all))
	for name, v := range all {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		kind, err := ctyjson.ImpliedType(text)
		if err != nil {
			t.Fatal(err)
		}
		if out[name], err = ctyjson.Unmarshal(text, kind); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
