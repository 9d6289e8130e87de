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
	asJSON(t, ctyjson.SimpleJSONValue{Value: v}, into)
}

func values(t testing.TB, all map[string]any) map[string]cty.Value {
	t.Helper()
	var read map[string]ctyjson.SimpleJSONValue
	asJSON(t, all, &read)
	out := make(map[string]cty.Value, len(all))
	for name, v := range read {
		out[name] = v.Value
	}
	return out
}

// asJSON puts a value into another by way of JSON.
func asJSON(t testing.TB, value, into any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
