package lua

import (
	_ "embed"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/line"
)

//go:embed permissions.acl
var permissionList string

// permissions are the rules of Redis's ACL SETUSER for a user who may do what a
// store does, and nothing else: keys and commands, as permissions.acl lists them.
func permissions() []string {
	var rules []string
	for l := range strings.Lines(permissionList) {
		if !strings.HasPrefix(l, "#") {
			rules = append(rules, strings.Fields(l)...)
		}
	}
	return rules
}

var command = regexp.MustCompile(`call\('([A-Z]+)'`)

// TestPermissions: a user who has them can do everything that a store does, and
// there is none that no script and no call names.
func TestPermissions(t *testing.T) {
	t.Parallel()
	rules := permissions()
	address := ownServer(t)
	admin := openPatient(t, address, nil)
	defer admin.close(t)
	user := []any{"acl", "setuser", "queue", "on", ">pw", "-@all"}
	for _, rule := range rules {
		user = append(user, rule)
	}
	must(t, admin.client.Do(t.Context(), user...).Err())
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("queue", "pw")

	clock := conformance.NewClock()
	s := openPatient(t, u.String(), clock.Now)
	defer s.close(t)
	s.prefix = ""
	must(t, s.warm(t.Context()))
	admin.client.ScriptFlush(t.Context()) // as a node that has just joined
	sc := newSceneOn(t, s, clock)
	sc.fails(s.Ping(t.Context()), nil)
	sc.polls(sc.places['b'], line.Waiting)
	sc.clock.Add(6*time.Second + time.Millisecond)
	sc.polls(sc.places['b'], line.Admitted)
	sc.clock.Add(15 * time.Second)
	sc.polls(sc.places['c'], line.Admitted)
	if first, err := s.Spend(t.Context(), "key", "one", time.Minute); !first || err != nil {
		t.Errorf("spend: %t, %v", first, err)
	}
	lost := sc.lost('d', 1)
	sc.fails(s.Recall(t.Context(), "Z", []line.Departure{{Place: sc.places['b'], AdmittedAtMillis: 1}}), nil)
	sc.polls(lost, line.Waiting) // which heals
	sc.fails(s.Leave(t.Context(), "Z", lost), nil)
	sc.polls(lost, line.Gone)
	if _, err := s.Join(t.Context(), "Z", visitor('e')); err != nil {
		t.Error(err)
	}
	clock.Add(2 * time.Minute)
	sweepAll(t, s)
	clock.Add(10 * time.Minute)
	sweepAll(t, s) // which forgets the admissions
	if st := stats(t, s); st.Totals.Swept != 1 || st.Totals.Restored != 1 {
		t.Errorf("%+v", st.Totals)
	}
	zones, err := s.Zones(t.Context())
	changes, err2 := s.Changes(t.Context(), "")
	if err != nil || err2 != nil || len(zones) != 1 || len(changes) != 1 {
		t.Errorf("%v, %v, %v, %v", zones, err, changes, err2)
	}
	for _, a := range limit.Algorithms {
		q := limit.Request{Policy: "p", Tier: "t", Subject: "s", Cost: 1,
			Rules: []limit.Rule{{Algorithm: a, Limit: 1, WindowSeconds: 1}}}
		for _, allowed := range []bool{true, false, true} {
			if v, err := s.Allow(t.Context(), q); err != nil || v.Allowed != allowed {
				t.Errorf("%s: %+v, %v, want allowed %t", a, v, err, allowed)
			}
			if !allowed {
				clock.Add(2 * time.Second)
			}
		}
	}
	if aside, err := s.DrawnAside(t.Context(), "Z", 0, 0, math.MaxInt64); err != nil {
		t.Error(aside, err)
	}
	if _, err := s.FindVisitor(t.Context(), "Z", line.Admission{ID: line.ID{1}}); err != nil {
		t.Error(err)
	}
	if written, err := s.KeepDraw(t.Context(), "Z", "c0ffee", []byte("a list")); err != nil || !written {
		t.Error(written, err)
	}
	if list, err := s.Draw(t.Context(), "Z", "c0ffee"); err != nil || string(list) != "a list" {
		t.Errorf("%q, %v", list, err)
	}
	sc.fails(s.DeleteZone(t.Context(), "Z", audit.By{}), nil)
	s.now = nil
	put(t, s, sc.zone)
	s.announced = newAnnouncement([]string{"one"})
	sc.fails(s.announce(t.Context()), nil) // and Close takes its name off

	denied, err := admin.client.ACLLog(t.Context(), 100).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range denied {
		if !strings.HasPrefix(d.Object, "client") { // the client's name, for people
			t.Errorf("denied: %s to %s", d.Object, d.Username)
		}
	}
	inScripts := make(map[string]bool)
	for _, sc := range scripts {
		for _, m := range command.FindAllStringSubmatch(sc.text, -1) {
			name := strings.ToLower(m[1])
			inScripts[name] = true
			if !slices.Contains(rules, "+"+name) {
				t.Errorf("%s is not listed, and %s.lua has it", name, sc.name)
			}
		}
	}
	// A command that nobody sends is one that nobody needs.
	sent, err := admin.client.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		name, isCommand := strings.CutPrefix(rule, "+")
		if !isCommand {
			continue // a key
		}
		alone := name == "select" || name == "command" || strings.HasPrefix(name, "cluster|")
		if !alone && !inScripts[name] && !strings.Contains(sent, "cmdstat_"+name+":") {
			t.Errorf("%s is listed, and was not used", name)
		}
	}
}
