package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/deploy/terraform"
)

// The costs are those of the largest crowd.
func TestCostsIn(t *testing.T) {
	t.Parallel()
	want := costs{
		EmbeddedPoll: 30, ServerPoll: 30, RedisPoll: 6, EmbeddedJoin: 30, ServerJoin: 30, RedisJoin: 6,
		EmbeddedBytes: 60, RedisBytes: 139.6,
	}
	if got := costsIn(found()); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestScalingPage(t *testing.T) {
	t.Parallel()
	for _, measured := range []bool{true, false} {
		dir := t.TempDir()
		if measured {
			kept(t, dir, found())
		}
		if err := (&scalingCommand{Docs: dir}).Run(); err != nil {
			t.Fatal(err)
		}
		page := read(t, dir, "scaling.md")
		if strings.Contains(page, "not measured yet") == measured {
			t.Errorf("measured: %t, and the page says so: %t", measured, !measured)
		}
		// Half of a second over 30 us, and over 6 us, times 19.4.
		for _, want := range []string{"| a server's core, Redis store | 16,000 | 320,000 |", "| a Redis node = one zone | 83,000 | 1,600,000 |"} {
			if measured && !strings.Contains(page, want) {
				t.Errorf("scaling.md has no %q", want)
			}
		}
	}
	if settledPeriod != 19.4 {
		t.Error("scaling.md.tmpl has another settledPeriod")
	}
}

// The numbers that the examples' costs are computed from are those of the examples.
func TestExamplesAreWhatTheyCost(t *testing.T) {
	t.Parallel()
	r, err := readReport("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		dir := filepath.Join("../../docs", examplesDir, e.name)
		text := func(dir, expression string) string { return evaluated(t, dir, expression) }
		for expression, want := range map[string]string{
			"var.server_type": e.Server.Type, "var.redis_type": e.Redis.Type,
			"var.min_servers": count(e.Least), "var.max_servers": count(e.Most),
		} {
			if got := text(dir, expression); got != want {
				t.Errorf("%s: %s is %s, and costs are those of %s", dir, expression, got, want)
			}
		}
		if got := text(filepath.Join(dir, "../../modules/monitoring"), "var.instance_type"); got != e.Monitoring.Type {
			t.Errorf("Prometheus has a %s, and costs are those of a %s", got, e.Monitoring.Type)
		}
		m, err := terraform.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		network, servers := m.Of("module", "network")[0].Body.Attributes, m.Of("module", "servers")[0].Body.Attributes
		nat, diags := network["nat"].Expr.Value(nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		inside, diags := network["endpoints"].Expr.Value(nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if nats := map[string]int{"per_zone": zones, "one": 1, "none": 0}[nat.AsString()]; nats != e.nats || inside.True() != (e.endpoints > 0) {
			t.Errorf("%s: %d NAT gateways, endpoints: %t; costs are those of %d and %d", dir, nats, inside.True(), e.nats, e.endpoints)
		}
		if reserves := len(m.Of("variable", "reserved_units")) == 1; reserves != e.Reserves {
			t.Errorf("%s reserves units: %t; costs take it that it does: %t", dir, reserves, e.Reserves)
		}
		target, diags := servers["requests_target"].Expr.Value(nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got, _ := target.AsBigFloat().Float64(); int(math.Round(got)) != e.requestsTarget(costsIn(r)) {
			t.Errorf("%s grows at %.0f requests a minute and server, should at %d", dir, got, e.requestsTarget(costsIn(r)))
		}
	}
}

// evaluated is an expression's value in a folder of Terraform, with its sample's variables.
func evaluated(t *testing.T, dir, expression string) string {
	t.Helper()
	m, err := terraform.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	values, err := m.Sample()
	if err != nil {
		t.Fatal(err)
	}
	e, err := m.Evaluate(terraform.Given{Variables: values, Now: "2026-12-01T00:00:00Z"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.Text(expression)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestShare(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{3.4: "3.40 %", 50: "50.0 %", 68.1: "*68 %*", 339: "**339 %**"} {
		if got := share(v); got != want {
			t.Errorf("share(%v) = %q, want %q", v, got, want)
		}
	}
}

// TestReservedUnitsArePaid: for the hours of the event and of the day before it,
// used or not; fewer than can be reserved are not.
func TestReservedUnitsArePaid(t *testing.T) {
	t.Parallel()
	c := costs{ServerPoll: 30, RedisPoll: 10, ServerJoin: 30, RedisJoin: 10}
	price := func(reserves bool, n int, within time.Duration) (hour, event float64) {
		r := example{Server: c7iXLarge, Least: 3, Most: 12, Reserves: reserves}.row(c.rush(n, within))
		return r.Hour, r.Event
	}
	const crowd, units = 1_000_000, 4000 // 100,000 connections a second
	with, event := price(true, crowd, 10*time.Second)
	without, eventWithout := price(false, crowd, 10*time.Second)
	used := max(crowd/unitConnected, foresee(crowd, 600, 60_000).settled*pollBytes*3600/1e9)
	if got, want := with-without, (units-used)*unitHour; math.Abs(got-want) > 0.1 {
		t.Errorf("an hour with %d units costs $%.2f more, want $%.2f", units, got, want)
	}
	if got, want := event-eventWithout, (units-used)*unitHour*eventHours+units*unitHour*reservedHours; math.Abs(got-want) > 1.5 {
		t.Errorf("an event with %d units costs $%.2f more, want $%.2f", units, got, want)
	}
	if a, b := price(true, 20_000, time.Minute); a == 0 || b < 3.9*a || b > 4.1*a {
		t.Errorf("where nothing is reserved, 4 hours at $%.2f cost $%.2f", a, b)
	}
}
