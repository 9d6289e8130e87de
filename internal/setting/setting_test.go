package setting_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/setting"
)

// room has a setting of each kind.
type room struct {
	Seats  int64
	Mode   string
	Warm   bool
	Notice string
	Agents []string
	Sign   setting.Texts
}

var table = setting.Table[room]{
	{
		Name: "seats", Label: "Seats", Hint: "How many.", At: func(r *room) any { return &r.Seats },
		Default: int64(7), Least: 0, Most: 12_340, Unit: "seats", None: "standing only",
	},
	{
		Name: "mode", Label: "Mode", Hint: "Which.", At: func(r *room) any { return &r.Mode }, Default: "day",
		Choices: []setting.Choice{{Value: "day", Label: "by day", Means: "in the sun"}, {Value: "night", Label: "by night"}},
	},
	{Name: "warm", Label: "Warm", Hint: "Heated?", At: func(r *room) any { return &r.Warm }, Default: false},
	{Name: "notice", Label: "Notice", Hint: "At the door.", At: func(r *room) any { return &r.Notice }, Default: "", MaxLength: 10},
	{
		Name: "agents", Label: "Agents", Hint: "Who may not.", At: func(r *room) any { return &r.Agents },
		Default: []string{}, Most: 3, MaxLength: 5, None: "nobody",
	},
	{Name: "sign", Label: "Sign", Hint: "Outside.", At: func(r *room) any { return &r.Sign }, Default: setting.Texts{}, MaxLength: 10},
}

// begun is a room of defaults.
func begun() (r room) {
	table.Fill(&r)
	return r
}

// TestEachKind takes values of all kinds through all that is done with a setting: they
// are typed, kept as JSON and YAML, compared, merged and shown.
func TestEachKind(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, typed, json, text, words string }{
		{"seats", "900", "900", "900", "900 seats"},
		{"seats", " 12,340 ", "12340", "12340", "12,340 seats"},
		{"seats", "12\u202f340", "12340", "12340", "12,340 seats"},
		{"seats", "0", "0", "0", "standing only"},
		{"mode", "night", `"night"`, "night", "by night"},
		{"warm", "true", "true", "true", "yes"},
		{"warm", " true", "true", "true", "yes"},
		{"notice", "Open", `"Open"`, "Open", "Open"},
		{"notice", "a, b", `"a, b"`, "a, b", "a, b"},
		{"agents", "bot", `["bot"]`, "bot", "bot"},
		{"agents", " bot , ,spy\nape", `["bot","spy","ape"]`, "bot,spy,ape", "bot, spy, ape"},
		{"agents", `["a,b","c"]`, `["a,b","c"]`, `["a,b","c"]`, "a,b, c"},
		{"agents", `["\ud83c\udf89\/"]`, `["🎉/"]`, "🎉/", "🎉/"},
		{"agents", `["[x"]`, `["[x"]`, `["[x"]`, "[x"},
		{"sign", " de: open ", `"de: open"`, "de: open", "de: open"},
		{"sign", "Open\r\n de:  Offen\npt-BR: Abre\n", `{"de":"Offen","default":"Open","pt-BR":"Abre"}`, "Open\nde: Offen\npt-BR: Abre", "Open (and in de, pt-BR)"},
		{"sign", "de: Offen\ndefault: PS: Open", `{"de":"Offen","default":"PS: Open"}`, "default: PS: Open\nde: Offen", "PS: Open (and in de)"},
	}
	for _, tt := range tests {
		x, r, was := table.Find(tt.name), begun(), begun()
		if fault := x.Type(&r, tt.typed); fault != "" || x.Check(r) != "" {
			t.Errorf("%s %q: %s", tt.name, tt.typed, fault)
			continue
		}
		if got := x.Text(r); got != tt.text || x.Words(r) != tt.words || x.Same(r, was) {
			t.Errorf("%s %q: text %q, words %q", tt.name, tt.typed, got, x.Words(r))
		}
		if b, err := json.Marshal(x.Value(r)); err != nil || string(b) != tt.json {
			t.Errorf("%s %q: %s, %v, want %s", tt.name, tt.typed, b, err, tt.json)
		}
		// What was shown can be typed, and what was kept can be read.
		var typed, fromJSON, fromYAML room
		if fault := x.Type(&typed, x.Text(r)); fault != "" || !x.Same(typed, r) {
			t.Errorf("%s: typed again %+v, %s", tt.name, typed, fault)
		}
		if err := x.Decode(&fromJSON, func(at any) error { return json.Unmarshal([]byte(tt.json), at) }); err != nil || !x.Same(fromJSON, r) {
			t.Errorf("%s: JSON read as %+v, %v", tt.name, fromJSON, err)
		}
		if err := x.Decode(&fromYAML, func(at any) error { return yaml.Unmarshal([]byte(tt.json), at) }); err != nil || !x.Same(fromYAML, r) {
			t.Errorf("%s: YAML read as %+v, %v", tt.name, fromYAML, err)
		}
		if got := table.Differences(was, r); len(got) != 1 || got[0] != x {
			t.Errorf("%s: differs in %d settings", tt.name, len(got))
		}
	}
}

func TestWhatMayNotBeTyped(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, typed, fault string }{
		{"seats", "-1", "Seats: write a whole number between 0 and 12,340."},
		{"seats", "12341", "between"}, {"seats", "1.5", "between"}, {"seats", "", "between"}, {"seats", "9e2", "between"},
		{"seats", "99999999999999999999", "between"},
		{"mode", "Day", "Mode: choose one of the list."}, {"mode", "", "choose"},
		{"warm", "perhaps", "Warm: choose one of the list."}, {"warm", "", "choose"},
		{"notice", "12345678901", "Notice: write a text of at most 10 bytes."},
		{"notice", "a\x00", "write"}, {"notice", "a\u2028b", "write"}, {"notice", "\xff", "write"},
		{"agents", "a,b,c,d", "Agents: write at most 3 texts of at most 5 bytes each, with commas between."},
		{"sign", "Open\nOffen", "write a text of at most 10 bytes and, for each other language, a line such as de: Text."},
		{"sign", "de: Offen\nen: Open", "write"}, {"sign", "12345678901", "write"}, {"sign", "Open\nde: 12345678901", "write"},
		{"sign", "Open\nde: a\nde: b", "write"}, {"sign", "Open\nde:", "write"}, {"sign", "Open\nWow!: x", "write"},
		{"agents", "abcdef", "write"}, {"agents", `["a"`, "write"}, {"agents", `[1]`, "write"}, {"agents", `["\ud83d"]`, "write"}, {"agents", `[""]`, "write"},
	}
	for _, tt := range tests {
		x, r := table.Find(tt.name), begun()
		if fault := x.Type(&r, tt.typed); !strings.HasPrefix(fault, x.Label+": ") || !strings.Contains(fault, tt.fault) {
			t.Errorf("%s %q: fault %q, want %q", tt.name, tt.typed, fault, tt.fault)
		}
		if len(table.Differences(r, begun())) != 0 {
			t.Errorf("%s %q: set to %+v", tt.name, tt.typed, r)
		}
	}
}

func TestCheckSaysAll(t *testing.T) {
	t.Parallel()
	got := table.Check(room{Seats: -1, Mode: "dusk", Notice: "\n", Agents: []string{"a", "abcdef"}, Sign: setting.Texts{"": "Open"}})
	want := []string{
		"seats is -1, must be between 0 and 12340", `mode "dusk" must be day or night`,
		"notice must not hold control characters", "agents: text 2 must not be longer than 5 bytes",
		"sign must have a text for default, for readers of all other languages",
	}
	if !slices.Equal(got, want) || table.Check(begun()) != nil {
		t.Errorf("%q", got)
	}
}

// TestListsAreNotShared: a list that is taken over is a copy, and none is as good as an
// empty one.
func TestListsAreNotShared(t *testing.T) {
	t.Parallel()
	a, b, x := room{Agents: []string{"bot"}}, room{}, table.Find("agents")
	x.Take(&b, a)
	b.Agents[0] = "spy"
	if a.Agents[0] != "bot" {
		t.Error("shared")
	}
	if err := x.Decode(&a, func(at any) error { return json.Unmarshal([]byte(`["ape"]`), at) }); err != nil || b.Agents[0] != "spy" {
		t.Errorf("%v, %v", b.Agents, err)
	}
	if !x.Same(room{}, room{Agents: []string{}}) {
		t.Error("none is not empty")
	}
	if text, err := table.AppendJSON(nil, room{}); err != nil || !strings.HasSuffix(string(text), `"agents":[],"sign":""`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	was, now, theirs := begun(), begun(), begun()
	now.Seats, now.Agents, now.Warm = 9, []string{"bot"}, true
	theirs.Seats, theirs.Notice = 8, "Shut"
	next, others := table.Merge(theirs, was, now)
	if len(others) != 1 || others[0].Name != "seats" || next.Seats != 8 || !next.Warm || next.Notice != "Shut" || len(next.Agents) != 1 {
		t.Errorf("%+v, %d", next, len(others))
	}
}

func TestKindsHaveNames(t *testing.T) {
	t.Parallel()
	var got []string
	for i := range table {
		got = append(got, table[i].Kind())
	}
	want := []string{"a whole number", "a string", "true or false", "a string", "a list of strings", "a string, or strings by language"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if r := begun(); table[1].Meaning(r) != "in the sun" || table[0].Meaning(r) != "How many." || table[4].Words(r) != "nobody" || table[3].Words(r) != "none" {
		t.Error("what it means")
	}
}
