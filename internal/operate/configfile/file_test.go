package configfile

import (
	"slices"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/zone"
)

// said is the zone with a message.
func said(s zone.Settings, message zone.Texts) zone.Settings {
	s.Message = message
	return s
}

func TestParse(t *testing.T) {
	all := zone.Defaults("B")
	all.PerMinute, all.Mode, all.WindowSeconds, all.Burst, all.IdleTimeoutSeconds = 5, zone.ModeClosed, 10, 3, 120
	all.PassTTLSeconds, all.MaxWaiting, all.OnStoreFailure = 60, 9, zone.FailureAdmit
	all.BypassPaths = []string{"/a/*", "/b"}
	a := zone.Defaults("A")
	a.PerMinute = 30
	tests := []struct {
		name, text string
		zones      []zone.Settings
		limits     []string
		says       []string // of the error
	}{
		{name: "empty", text: ""},
		{name: "comments only", text: "# nothing yet\n"},
		{name: "nothing in it", text: "---\n"},
		{name: "no value", text: "addr:\nzones:\n"},
		{name: "zones", text: `zones:
  - zoneId: A
    perMinute: 30
  - {zoneId: B, perMinute: 5, mode: closed, windowSeconds: 10, burst: 3, idleTimeoutSeconds: 120,
     passTtlSeconds: 60, maxWaiting: 9, onStoreFailure: admit, bypassPaths: [/a/*, /b]}
`, zones: []zone.Settings{a, all}},
		{name: "texts", text: "zones:\n  - {zoneId: A, perMinute: 30, message: {default: Soon., de: Gleich.}}\n  - {zoneId: C, message: Soon.}\n  - {zoneId: D, message: 7}\n",
			zones: []zone.Settings{said(a, zone.Texts{"default": "Soon.", "de": "Gleich."}), said(zone.Defaults("C"), zone.Texts{"default": "Soon."}), said(zone.Defaults("D"), zone.Texts{"default": "7"})}},
		{name: "texts without one for everybody", text: "zones:\n  - {zoneId: A, message: {de: Gleich.}}\n", says: []string{"x.yaml:2: ", "message must have a text for default"}},
		{name: "texts that are none", text: "zones:\n  - {zoneId: A, message: [Soon.]}\n  - {zoneId: B, message: {default: [Soon.]}}\n  - {zoneId: C, message: \"a\\nb\"}\n",
			says: []string{"x.yaml:2: message must be settings by their names", "x.yaml:3: message.default must be a string", "x.yaml:4: message must begin line 2 with a language"}},
		{name: "JSON", text: "\ufeff" + `{"zones": [{"zoneId": "C", "message": "\ud83c\udf89 at https:\/\/shop.example"}, {"zoneId": "D", "message": 7}]}`,
			zones: []zone.Settings{said(zone.Defaults("C"), zone.Texts{"default": "🎉 at https://shop.example"}), said(zone.Defaults("D"), zone.Texts{"default": "7"})}},
		{name: "JSON with a setting twice", text: "{\"zones\": [{\"zoneId\": \"C\",\n\"zoneId\": \"D\"}]}", says: []string{"x.yaml:2: zoneId is in line 1 already"}},
		{name: "JSON with half a character", text: `{"zones": [{"zoneId": "C", "message": "\ud83c"}]}`, says: []string{"x.yaml: "}},
		{name: "anchors", text: "zones:\n  - &a {zoneId: A, perMinute: 30}\n  - *a\n", says: []string{`zone "A" is in line 2 already`}},
		{name: "unknown keys", text: "addr: :1\nzone:\n  - zoneId: A\nfrobnicate: 1\n",
			says: []string{`x.yaml:2: "zone" is not a setting of the file; did you mean "zones"?`, `x.yaml:4: "frobnicate" is not a setting of the file; known are addr, log-level, zones, limits`}},
		{name: "unknown keys of a zone", text: "zones:\n  - zoneId: A\n    perminute: 3\n    pass_ttl: 5\n",
			says: []string{`x.yaml:3: "perminute" is not a setting of a zone; did you mean "perMinute"?`, `x.yaml:4: "pass_ttl" is not a setting of a zone; known are zoneId, perMinute`}},
		{name: "the file's own name", text: "config: y.yaml\n", says: []string{`x.yaml:1: "config" is not a setting of the file`}},
		{name: "twice", text: "addr: :1\naddr: :2\n", says: []string{"x.yaml:2: addr is in line 1 already"}},
		{name: "a zone twice", text: "zones:\n  - zoneId: A\n  - zoneId: A\n", says: []string{`x.yaml:3: zone "A" is in line 2 already`}},
		{name: "a setting with parts", text: "addr: {host: x}\n", says: []string{"x.yaml:1: addr must be one value"}},
		{name: "no settings", text: "- addr\n", says: []string{"x.yaml:1: the file must be settings"}},
		{name: "zones is no list", text: "zones:\n  zoneId: A\n", says: []string{"x.yaml:2: zones must be a list"}},
		{name: "a zone is a word", text: "zones:\n  - A\n", says: []string{"x.yaml:2: a zone must be settings"}},
		{name: "a word for a number", text: "zones:\n  - zoneId: A\n    perMinute: many\n", says: []string{"x.yaml:3: perMinute must be a whole number"}},
		{name: "out of range", text: "zones:\n  - zoneId: A\n  - {zoneId: B, windowSeconds: 61, mode: ajar}\n",
			says: []string{"x.yaml:3: ", "windowSeconds is 61, must be between 1 and 60", `mode "ajar" must be queue, open or closed`}},
		{name: "no name", text: "zones:\n  - perMinute: 5\n", says: []string{`x.yaml:2: `, `zoneId "" must be 1 to 64`}},
		{name: "limits", text: "limits:\n  - name: api\n    rules: [{algorithm: sliding_log, limit: 100, windowSeconds: 60}]\n",
			limits: []string{"api"}},
		{name: "faults of limits", text: "limits:\n  - name: api\n    rules: [{algorithm: sliding_lock, limit: 0, windowSeconds: 60}]\n" +
			"  - name: b\n    shard: 1\n    rules: 7\nzones:\n  - A\n",
			says: []string{`x.yaml:2: tier default: rule 1: algorithm "sliding_lock" must be one of`, "x.yaml:2: tier default: rule 1: limit is 0",
				`x.yaml:5: "shard" is not a setting of a policy`, "x.yaml:6: rules must be a list", "x.yaml:8: a zone must be settings"}},
		{name: "a policy twice", text: "limits:\n  - &a {name: api, rules: [{algorithm: sliding_log, limit: 1, windowSeconds: 60}]}\n  - *a\n",
			says: []string{`x.yaml:3: policy "api" is in line 2 already`}},
		{name: "sites", text: "sites:\n  - {host: shop.example, zone: A, upstream: http://127.0.0.1:8000}\n\n  - {zone: A, upstream: http://127.0.0.1:8000, retries: 3}\n",
			says: []string{`x.yaml:4: "retries" is not a setting of a site`}},
		{name: "limits is no list", text: "limits: {name: api}\n", says: []string{"x.yaml:1: limits must be a list"}},
		{name: "no YAML", text: "addr: [\n", says: []string{"x.yaml: yaml: line"}},
		{name: "two documents", text: "addr: :1\n---\naddr: :2\n", says: []string{"more than one YAML document"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse("x.yaml", []byte(tt.text), []string{"addr", "log-level"})
			if len(tt.says) > 0 {
				for _, want := range tt.says {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("error %v, want one that says %q", err, want)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var limits []string
			for _, p := range got.Limits {
				limits = append(limits, p.Name)
			}
			if !slices.Equal(limits, tt.limits) {
				t.Errorf("limits %q, want %q", limits, tt.limits)
			}
			if len(got.Zones) != len(tt.zones) {
				t.Fatalf("%d zones, want %d", len(got.Zones), len(tt.zones))
			}
			for i := range tt.zones {
				if !got.Zones[i].Equal(tt.zones[i]) {
					t.Errorf("zone %d = %+v, want %+v", i, got.Zones[i], tt.zones[i])
				}
			}
		})
	}
}
