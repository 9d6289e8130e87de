package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/generated"
	"github.com/openqueue/waitingroom/internal/refusal"
)

// TestRefusalsAreGenerated: what others say of refusals is made from their declarations, which are all linked into the server.
func TestRefusalsAreGenerated(t *testing.T) {
	all := refusal.All()
	example := func(code string) []string {
		i := slices.IndexFunc(all, func(r refusal.Refusal) bool { return r.Code == code })
		if i < 0 || all[i].Detail == "" {
			t.Fatalf("no refusal has the code %q and a detail", code)
		}
		r := all[i]
		return []string{
			"type: " + refusal.TypeBase + code, "title: " + quoted(r.Title), fmt.Sprintf("status: %d", r.Status),
			"detail: " + quoted(r.Detail), "code: " + code,
		}
	}
	codes := func(format string) func(string) []string {
		return func(string) (lines []string) {
			for _, r := range all {
				if r.Readers == refusal.Visitors || r.Readers == refusal.Both {
					lines = append(lines, fmt.Sprintf(format, r.Code))
				}
			}
			return lines
		}
	}
	for _, listener := range []string{"site"} {
		generated.File(t, "../../internal/openapi/"+listener+"/openapi.yaml", map[string]func(string) []string{"problem": example})
	}
	generated.File(t, "../../internal/openapi/public/openapi.yaml", map[string]func(string) []string{"problem": example, "codes": codes("- %s")})
	generated.File(t, "../../clients/js/index.d.ts", map[string]func(string) []string{"codes": codes("| '%s'")})
	generated.File(t, "../../docs/reference/problems.md", map[string]func(string) []string{
		"problems": func(readers string) (lines []string) {
			for _, r := range all {
				if string(r.Readers) != readers {
					continue
				}
				status := fmt.Sprint(r.Status)
				if !strings.HasPrefix(r.Doc, ",") { // which says by itself when to come back
					if r.RetryMax > 0 {
						status += fmt.Sprintf(", `Retry-After` %d-%d s", r.RetryMin, r.RetryMax)
					}
					status += ". "
				}
				lines = append(lines, "### "+r.Code, "", status+r.Doc, "")
			}
			return lines
		},
	})
	generated.File(t, "../../deploy/prometheus/recording.rules.yml", map[string]func(string) []string{
		"ordered": func(string) []string {
			var ordered []string
			for _, r := range all {
				if r.Ordered {
					ordered = append(ordered, r.Code)
				}
			}
			return []string{fmt.Sprintf(`sum by (room, job, namespace, zone) (zone_code:queue_refusals:rate1m{zone!="", code!~"%s"})`, strings.Join(ordered, "|"))}
		},
	})
	generated.File(t, "../../docs/operate/alerts.md", map[string]func(string) []string{
		"refusals": func(string) []string {
			lines := []string{"| code | then |", "| --- | --- |"}
			for _, r := range all {
				if r.Alert != "" {
					lines = append(lines, fmt.Sprintf("| `%s` | %s |", r.Code, r.Alert))
				}
			}
			return lines
		},
	})
}

// quoted writes a text as YAML.
func quoted(text string) string {
	if !regexp.MustCompile(`: |^["'\[{&*!|>%@#]| #`).MatchString(text) {
		return text
	}
	b, err := json.Marshal(text)
	if err != nil {
		return err.Error() // every text can be JSON
	}
	return string(b)
}
