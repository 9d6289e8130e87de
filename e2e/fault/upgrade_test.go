package fault

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestEmbeddedOf010: a server that starts with the data folder of version 0.1.0 has the settings, the record of changes, the line in order,
// and those inside. The way back is the backup: 0.1.0 refuses the folder from then on. TestInside has the same of Redis, under a crowd.
func TestEmbeddedOf010(t *testing.T) {
	t.Parallel()
	s := room.New(t, settings("", nil))
	s.Be010(t)
	s.Start(t)
	z := zone.Defaults("SALE")
	z.PerMinute, z.MaxInside, z.BypassPaths = 600, 1, []string{"/static/*"}
	shop := newSale(t, z, []*room.Server{s})
	all := shop.join(t, "who", 6)
	if !all[0].CanEnter || all[1].CanEnter {
		t.Fatalf("of the first two, the first was to enter: %+v", all[:2])
	}
	settings, record := object(t, s, "/admin/zones/SALE"), object(t, s, "/admin/audit?zoneId=SALE")
	s.Upgrade(t)

	is := object(t, s, "/admin/zones/SALE")
	for name, value := range settings {
		if !reflect.DeepEqual(is[name], value) {
			t.Errorf("%s is %v, was %v", name, is[name], value)
		}
	}
	if is := object(t, s, "/admin/audit?zoneId=SALE"); first(is)["by"] != first(record)["by"] || first(is)["at"] != first(record)["at"] {
		t.Errorf("the record: %v, was %v", is, record)
	}
	for range 2 { // the first poll puts back, the second compares
		for i := range all {
			if got := shop.poll(t, all[i].Token); i > 0 {
				all[i] = got
			} else if got.Admission != all[0].Admission {
				t.Errorf("who was let in got %+v", got)
			}
		}
	}
	for i, got := range all[1:] {
		if got.Waiting.Position != int64(i+1) {
			t.Errorf("number %d of those who waited got %+v", i+1, got)
		}
	}
	if inside := object(t, s, "/admin/zones/SALE/stats")["inside"]; inside != 1.0 {
		t.Errorf("%v are inside", inside)
	}

	s.Stop(t)
	back := exec.CommandContext(t.Context(), room.Program010(t), "serve")
	back.Dir, back.Env = s.Dir, s.Env
	if said, err := back.CombinedOutput(); err == nil || !strings.Contains(string(said), "has format 2, and this version reads formats up to 1") {
		t.Errorf("0.1.0 with the data folder: %v\n%s", err, said)
	}
}

// first is the only change of a record.
func first(record map[string]any) map[string]any {
	all, ok := record["changes"].([]any)
	if !ok || len(all) != 1 {
		return nil
	}
	change, _ := all[0].(map[string]any)
	return change
}

// object returns what an operator gets.
func object(t *testing.T, s *room.Server, path string) (all map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s.Operate(t, http.MethodGet, path, "").Body), &all); err != nil {
		t.Fatal(err)
	}
	return all
}
