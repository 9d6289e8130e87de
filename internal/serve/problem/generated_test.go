package problem

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/generated"
)

const root = "../../../"

// TestProblemsAreGenerated: what others say of the problems is made from the table.
func TestProblemsAreGenerated(t *testing.T) {
	rows := slices.Concat(table, []kind{internalError})
	example := func(code string) []string {
		var k kind
		for _, row := range rows { // of several rows with a code the last one is what a crowd gets
			if row.code == code {
				k = row
			}
		}
		if k.detail == "" {
			t.Fatalf("no row of the table has the code %q and a detail", code)
		}
		return []string{
			"type: " + typeBase + code, "title: " + quoted(k.title), fmt.Sprintf("status: %d", k.status),
			"detail: " + quoted(k.detail), "code: " + code,
		}
	}
	for _, listener := range []string{"public", "operators", "limits", "site"} {
		generated.File(t, "../openapi/"+listener+"/openapi.yaml", map[string]func(string) []string{"problem": example})
	}
	generated.File(t, root+"docs/reference/problems.md", map[string]func(string) []string{
		"problems": func(args string) (lines []string) {
			for _, k := range rows {
				if k.page == "" || string(k.readers) != args {
					continue
				}
				status := fmt.Sprint(k.status)
				if !strings.HasPrefix(k.page, ",") { // which says by itself when to come back
					if k.retryMax > 0 {
						status += fmt.Sprintf(", `Retry-After` %d-%d s", k.retryMin, k.retryMax)
					}
					status += ". "
				}
				lines = append(lines, "### "+k.code, "", status+k.page, "")
			}
			return lines
		},
	})
	generated.File(t, root+"clients/js/index.d.ts", map[string]func(string) []string{
		"codes": func(string) (lines []string) {
			for _, k := range rows {
				if line := "| '" + k.code + "'"; (k.readers == visitors || k.readers == both) && !slices.Contains(lines, line) {
					lines = append(lines, line)
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
