package openapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/openapi"
)

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

// TestAnswersAreDescribed: public/openapi.yaml has the fields that the encoder of answers
// writes, in their order.
func TestAnswersAreDescribed(t *testing.T) {
	t.Parallel()
	o := read(t, openapi.Public)
	for status, schemas := range map[line.Status][]string{
		line.Waiting: {"Waiting", "WaitingPlace"}, line.Admitted: {"Admitted", "Admission"},
	} {
		a := answer.Answer{ZoneID: "Z", Notice: 1, Paused: true, Event: "E", OpensAtMillis: 1, Line: line.Told{HighMillis: 1, Reason: line.Faster, Answer: line.Answer{Status: status}}}
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
