package openapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/openapi"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/zone"
)

// schemaOf returns how the document describes a setting, without the descriptions in words.
func schemaOf(x *zone.Setting) object {
	text := object{"type": "string", "maxLength": float64(x.MaxLength)}
	switch x.Default.(type) {
	case int64:
		return object{"type": "integer", "format": "int64", "minimum": float64(x.Least), "maximum": float64(x.Most)}
	case bool:
		return object{"type": "boolean"}
	case zone.Texts:
		each := object{"type": "string", "minLength": 1.0, "maxLength": float64(x.MaxLength)}
		return object{"oneOf": []any{map[string]any(text), map[string]any{
			"type": "object", "required": []any{zone.DefaultText}, "maxProperties": float64(setting.MaxLanguages), "additionalProperties": map[string]any(each),
		}}}
	case []string:
		text["minLength"] = 1.0
		return object{"type": "array", "maxItems": float64(x.Most), "items": map[string]any(text)}
	}
	if p, is := x.Default.(zone.PerSecond); is {
		return object{"oneOf": []any{
			map[string]any{"type": "string", "enum": []any{p.String(), zone.PerSecondNone.String()}},
			map[string]any{"type": "integer", "format": "int64", "minimum": 1.0, "maximum": float64(zone.MaxMaxPerSecond)},
		}}
	}
	if x.Choices == nil {
		return text
	}
	var all []any
	for _, c := range x.Choices {
		all = append(all, c.Value)
	}
	return object{"type": "string", "enum": all}
}

// same reports a difference between the names of a table and those of a schema: of its
// properties, or of what it requires. Some may be left out.
func same(t *testing.T, o object, schema, where string, want []string, optional ...string) {
	t.Helper()
	properties, _ := o.at("components", "schemas", schema, "properties").(map[string]any)
	got := slices.Collect(maps.Keys(properties))
	if got != nil && !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("openapi.yaml: the schema %s has %q, %s has %q", schema, got, where, want)
	}
	required, _ := o.at("components", "schemas", schema, "required").([]any)
	var names []string
	for _, name := range required {
		names = append(names, fmt.Sprint(name))
	}
	want = slices.DeleteFunc(slices.Clone(want), func(name string) bool { return slices.Contains(optional, name) })
	if len(names) > 0 && !slices.Equal(names, want) {
		t.Errorf("openapi.yaml: the schema %s requires %q, %s has %q", schema, names, where, want)
	}
}

// TestSettingsAreDescribed: operators/openapi.yaml says of each setting of a zone what
// zone.Table says.
func TestSettingsAreDescribed(t *testing.T) {
	t.Parallel()
	o := read(t, openapi.Operators)
	names := append([]string{zone.IDName}, zone.Table.Names()...)
	for _, schema := range []string{"Change", "Zone"} {
		same(t, o, schema, "internal/zone/table.go", names)
	}
	for i := range zone.Table {
		x := &zone.Table[i]
		said, _ := o.at("components", "schemas", "Change", "properties", x.Name).(map[string]any)
		want := schemaOf(x)
		want["default"] = x.Default
		switch d := x.Default.(type) {
		case int64:
			want["default"] = float64(d)
		case zone.PerSecond:
			want["default"] = d.String()
		case []string:
			want["default"] = []any{}
		case zone.Texts:
			want["default"] = ""
		}
		if said["description"] == nil || said["example"] == nil {
			t.Errorf("operators/openapi.yaml: %s has no description or no example", x.Name)
		}
		said = maps.Clone(said)
		delete(said, "description")
		delete(said, "example")
		if x.Of != "" {
			continue // it has a schema of its own, which openapitest checks answers against
		}
		if !reflect.DeepEqual(object(said), want) {
			t.Errorf("operators/openapi.yaml says of %s %v, internal/zone/table.go %v", x.Name, said, want)
		}
	}
}

// TestTotalsAreDescribed: operators/openapi.yaml has all that line.TotalTable has.
func TestTotalsAreDescribed(t *testing.T) {
	t.Parallel()
	var names []string
	for _, x := range line.TotalTable {
		names = append(names, x.Name)
	}
	same(t, read(t, openapi.Operators), "Totals", "internal/line/total.go", names)
}

// TestAnswersAreDescribed: public/openapi.yaml has the fields that the encoder of answers
// writes, in their order.
func TestAnswersAreDescribed(t *testing.T) {
	t.Parallel()
	o := read(t, openapi.Public)
	for status, schemas := range map[line.Status][]string{
		line.Waiting: {"Waiting", "WaitingPlace"}, line.Admitted: {"Admitted", "Admission"},
	} {
		a := answer.Answer{ZoneID: "Z", Notice: 1, Paused: true, Event: "E", OpensAtMillis: 1, Line: line.Answer{Status: status, HighMillis: 1, Reason: line.Faster}}
		dec, names := json.NewDecoder(bytes.NewReader(a.AppendJSON(nil))), map[int][]string{}
		for depth, isName := 0, false; ; {
			token, err := dec.Token()
			if err != nil {
				break
			}
			switch name, isText := token.(string); {
			case token == json.Delim('{'):
				depth, isName = depth+1, true
			case token == json.Delim('}'):
				depth, isName = depth-1, true
			case isText && isName:
				names[depth] = append(names[depth], name)
				isName = false
			default:
				isName = true
			}
		}
		for i, schema := range schemas {
			same(t, o, schema, "AppendJSON in internal/answer/answer.go, of this test's answer,", names[i+1], "notice", "paused", "event", "estimatedWaitRange", "reason")
		}
	}
}
