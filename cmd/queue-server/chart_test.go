package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/check/generated"
	"github.com/openqueue/waitingroom/internal/openapi"
)

// TestChartSchemaIsGenerated: what the chart takes as a zone and as settings is what the server takes, so that a slip is found before
// anything is installed.
func TestChartSchemaIsGenerated(t *testing.T) {
	const file = "../../deploy/helm/queue-server/values.schema.json"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	var api struct {
		Components struct {
			Schemas map[string]any `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(openapi.Operators(), &api); err != nil {
		t.Fatal(err)
	}
	zone, isMap := plain(api.Components.Schemas["Change"], api.Components.Schemas).(map[string]any)
	zone["required"] = []string{"zoneId"}
	properties, isObject := schema["properties"].(map[string]any)
	if !isMap || !isObject {
		t.Fatal("no schema")
	}
	if of, is := zone["properties"].(map[string]any); is {
		of["zoneId"] = map[string]any{"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"}
	}
	properties["zones"] = map[string]any{"type": "array", "items": zone}
	properties["settings"] = map[string]any{"type": "object", "additionalProperties": false, "properties": settingsSchema()}
	made, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	generated.Whole(t, file, string(made)+"\n")
}

// plain is a schema with what it refers to in its place, and without what a check has no use for.
func plain(of any, all map[string]any) any {
	switch of := of.(type) {
	case map[string]any:
		if name, is := of["$ref"].(string); is {
			return plain(all[name[strings.LastIndex(name, "/")+1:]], all)
		}
		made := make(map[string]any)
		for key, value := range of {
			switch key {
			case "properties": // which may have any of the names below
				properties := make(map[string]any)
				if value, is := value.(map[string]any); is {
					for name, one := range value {
						properties[name] = plain(one, all)
					}
				}
				made[key] = properties
			case "description", "example", "examples", "default", "format", "contentEncoding":
			default:
				made[key] = plain(value, all)
			}
		}
		return made
	case []any:
		made := make([]any, len(of))
		for i := range of {
			made[i] = plain(of[i], all)
		}
		return made
	}
	return of
}

// settingsSchema has the settings by the names of their flags. A list may be written as a list, or joined by commas.
func settingsSchema() map[string]any {
	all := make(map[string]any)
	for field := range reflect.TypeFor[settings]().Fields() {
		if field.Tag.Get("help") == "" {
			continue // a secret, which is no value of a chart
		}
		kind := []string{"string", "number", "boolean"}
		switch field.Type {
		case reflect.TypeFor[[]string]():
			kind = []string{"string", "array"}
		case reflect.TypeFor[time.Duration]():
			kind = []string{"string"}
		case reflect.TypeFor[int64]():
			kind = []string{"integer"}
		}
		all[flagOf(field.Tag.Get(settingTag))] = map[string]any{"type": kind}
	}
	return all
}
