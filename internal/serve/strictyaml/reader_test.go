package strictyaml

import "testing"

func TestSuggest(t *testing.T) {
	t.Parallel()
	known := []string{"addr", "admin-addr", "zones"}
	for name, want := range map[string]string{
		"adr": `did you mean "addr"?`, "ADDR": `did you mean "addr"?`, "admin_addr": `did you mean "admin-addr"?`,
		"zone": `did you mean "zones"?`, "frobnicate": "known are addr, admin-addr, zones",
	} {
		if got := Suggest(name, known); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
