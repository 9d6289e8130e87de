package openapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/check/generated"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/openapi"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	root      = "../../../"
	operators = "operators/openapi.yaml"
)

// schemaOf returns how the API describes a setting, as lines of YAML; v writes a value.
func schemaOf(x *zone.Setting) []string {
	text := fmt.Sprintf("type: string, maxLength: %d", x.MaxLength)
	switch x.Default.(type) {
	case int64:
		return []string{"type: integer", "format: int64", fmt.Sprintf("minimum: %d", x.Least), fmt.Sprintf("maximum: %d", x.Most)}
	case bool:
		return []string{"type: boolean"}
	case zone.Texts:
		return []string{
			"oneOf:", "  - {" + text + "}", "  - type: object", "    required: [" + zone.DefaultText + "]",
			fmt.Sprintf("    maxProperties: %d", setting.MaxLanguages), "    additionalProperties: {type: string, minLength: 1, maxLength: " + fmt.Sprint(x.MaxLength) + "}",
		}
	case []string:
		return []string{"type: array", fmt.Sprintf("maxItems: %d", x.Most), "items: {type: string, minLength: 1, maxLength: " + fmt.Sprint(x.MaxLength) + "}"}
	case zone.PerSecond:
		return []string{
			"oneOf:", fmt.Sprintf("  - {type: string, enum: [%s, %s]}", zone.PerSecondAuto, zone.PerSecondNone),
			fmt.Sprintf("  - {type: integer, format: int64, minimum: 1, maximum: %d}", zone.MaxMaxPerSecond),
		}
	}
	switch {
	case x.Name == "events":
		return []string{"type: array", fmt.Sprintf("maxItems: %d", x.Most), "items: {$ref: '#/components/schemas/Event'}"}
	case x.Own:
		schema := strings.ToUpper(x.Name[:1]) + x.Name[1:]
		return []string{"type: object", "allOf: [{$ref: '#/components/schemas/" + schema + "'}]"}
	case x.Choices == nil:
		return strings.Split(text, ", ")
	}
	var all []string
	for _, c := range x.Choices {
		all = append(all, value(c.Value))
	}
	return []string{"type: string", "enum: [" + strings.Join(all, ", ") + "]"}
}

// value writes a value as JSON, which is YAML.
func value(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error() // no setting has such a value
	}
	return string(text)
}

// valueOf writes what a setting is in a zone.
func valueOf(x *zone.Setting, z zone.Settings) string { return value(x.Value(z)) }

// means says in words what a setting does, in the API's description.
func means(x *zone.Setting) string {
	text := x.Hint
	for _, c := range x.Choices {
		if c.Means != "" {
			text += " `" + c.Value + "`: " + c.Means + "."
		}
	}
	return text
}

// operations are the rows of what a listener can be asked, without what asks for no body or for the description itself.
func operations(listener string) []string {
	var described struct {
		Paths map[string]map[string]yaml.Node `yaml:"paths"` // an operation by its method; and the parameters of all
	}
	document := map[string]openapi.Document{
		"public": openapi.Public, "operators": openapi.Operators, "limits": openapi.Limits, "site": openapi.Site,
	}[listener]
	if err := yaml.Unmarshal(document, &described); err != nil {
		return []string{err.Error()}
	}
	lines := []string{"| call | what it is for |", "| --- | --- |"}
	for _, path := range slices.Sorted(maps.Keys(described.Paths)) {
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			var o struct {
				Summary string `yaml:"summary"`
			}
			if node, there := described.Paths[path][method]; !there || strings.HasPrefix(path, "/debug/") {
				continue
			} else if err := node.Decode(&o); err != nil {
				return []string{err.Error()}
			}
			lines = append(lines, fmt.Sprintf("| `%s %s` | %s |", strings.ToUpper(method), path, o.Summary))
		}
	}
	return lines
}

// TestSettingsAreGenerated: what the API's description and the documentation say of the settings of a zone is made from
// zone.Table.
func TestSettingsAreGenerated(t *testing.T) {
	usual := zone.Defaults("TEST_ZONE")
	generated.File(t, operators, map[string]func(string) []string{
		"settings": func(string) (lines []string) {
			for i := range zone.Table {
				x := &zone.Table[i]
				lines = append(lines, x.Name+":")
				for _, line := range append(schemaOf(x), "default: "+valueOf(x, usual), "example: "+valueOf(x, usual), "description: "+value(means(x))) {
					lines = append(lines, "  "+line)
				}
			}
			return lines
		},
		"required": func(string) []string {
			return []string{"required: [" + zone.IDName + ", " + strings.Join(zone.Table.Names(), ", ") + "]"}
		},
		"zone": func(args string) []string {
			z := usual
			if name, text, given := strings.Cut(args, "="); given {
				if err := zone.Table.Find(name).Parse(&z, text); err != nil {
					t.Fatal(err)
				}
			}
			lines := []string{zone.IDName + ": " + z.ZoneID}
			for i := range zone.Table {
				lines = append(lines, zone.Table[i].Name+": "+valueOf(&zone.Table[i], z))
			}
			return lines
		},
		"totals": func(string) []string {
			var names, schemas []string
			for _, x := range line.TotalTable {
				names = append(names, x.Name)
				schemas = append(schemas, fmt.Sprintf("  %s: {type: integer, format: int64, minimum: 0, example: 0, description: %s}", x.Name, value(x.Help)))
			}
			return append([]string{"required: [" + strings.Join(names, ", ") + "]", "properties:"}, schemas...)
		},
		"counted": func(string) []string {
			counts, n := make([]string, len(line.TotalTable)), 61_440
			for i, x := range line.TotalTable {
				n /= 4
				counts[i] = fmt.Sprintf("%s: %d", x.Name, n)
			}
			return []string{"totals: {" + strings.Join(counts, ", ") + "}"}
		},
	})
	generated.File(t, root+"docs/reference/zone.md", map[string]func(string) []string{
		"settings": func(string) []string {
			lines := []string{"| setting | default | how to choose |", "| --- | --- | --- |"}
			for i := range zone.Table {
				x := &zone.Table[i]
				if x.Own {
					continue
				}
				choose := x.Choose
				if choose == "" {
					choose = means(x)
				}
				was := "`" + x.Text(usual) + "`"
				if was == "``" || x.Of != "" {
					was = x.Words(usual)
				}
				lines = append(lines, fmt.Sprintf("| `%s` | %s | %s |", x.Name, was, choose))
			}
			return lines
		},
	})
	generated.File(t, root+"docs/reference/api.md", map[string]func(string) []string{"operations": operations})
}
