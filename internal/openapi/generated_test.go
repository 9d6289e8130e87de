package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/check/generated"
	"github.com/openqueue/waitingroom/internal/zone"
)

const root = "../../"

// operations are the rows of what a listener can be asked, without what asks for no body or for the description itself.
func operations(listener string) []string {
	var described struct {
		Paths map[string]map[string]yaml.Node `yaml:"paths"` // an operation by its method; and the parameters of all
	}
	document := map[string]func() Document{"public": Public, "operators": Operators, "limits": Limits, "site": Site}[listener]
	if err := yaml.Unmarshal(document(), &described); err != nil {
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

// TestSettingsAreGenerated: what the documentation says of the settings of a zone is made from zone.Table, and of the API from its
// description.
func TestSettingsAreGenerated(t *testing.T) {
	usual := zone.Defaults("TEST_ZONE")
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
