package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"text/template"
	"time"

	"github.com/openqueue/waitingroom/deploy/terraform"
	"github.com/openqueue/waitingroom/internal/window"
)

// What the examples of deploy/terraform carry and cost: computed from the costs
// of a request in performance.md, and from the sizes that the examples' own
// variables have.

//go:embed cloud.md.tmpl
var cloudText string

var cloud = template.Must(template.New("cloud.md").Parse(cloudText))

// examplesDir is where the examples are, from the folder of the documents.
const examplesDir = "../deploy/terraform/examples"

// instance is a type of AWS instances.
type instance struct {
	cores int     // as AWS counts them: two share one of the processor's
	hour  float64 // US dollars an hour, on demand, Linux, us-east-1
}

// instances are those that the examples may have. An example with another one
// fails here until its price is known.
var instances = map[string]instance{
	"t3.small": {2, .0208}, "t3.medium": {2, .0416}, "t3.large": {2, .0832},
	"m7i.large": {2, .1008}, "m7i.xlarge": {4, .2016},
	"c7i.large": {2, .08925}, "c7i.xlarge": {4, .1785}, "c7i.2xlarge": {8, .357}, "c7i.4xlarge": {16, .714},
}

// What AWS asks for the rest, in US dollars, us-east-1, November 2025.
const (
	balancerHour = .0225
	unitHour     = .008
	natHour      = .045
	endpointHour = .01 // in each zone of availability
	addressHour  = .005
	outGB        = .09 // the first 10 TB of a month
)

// A capacity unit of an Application Load Balancer is the most of these.
const (
	unitConnects  = 25.0 // new connections a second
	unitConnected = 3000.0
	unitGB        = 1.0 // an hour, in and out
)

const (
	// cloudReserve is left besides the half that stays free: performance.md was
	// measured over loopback, and a core of AWS is half of a processor's.
	cloudReserve = .5
	// answerBytes is the part of pollBytes that goes out and is billed.
	answerBytes = 1000
	// eventHours is how long an event of the table lasts, and reservedHours for how
	// long before it the balancer's units are reserved and paid, as the README of the
	// large example has it.
	eventHours, reservedHours = 4, 24
	// minReserved are the fewest units that can be reserved.
	minReserved = 100
	// zones is over how many zones of availability all is spread, and over how
	// many masters.
	zones = 3
	// nodes are those of Redis.
	nodes = 6
	// endpoints are AWS's interfaces that modules/network makes endpoints for.
	endpoints = 5
)

type (
	// cloudPage is what an example's table is filled with.
	cloudPage struct {
		Servers, Redis, Monitoring string
		Least, Most                int
		Idle, Up                   string
		PerServer, RequestsTarget  string
		Reserves                   bool
		Rows                       []cloudRow
	}
	cloudRow struct{ Visitors, Within, Joins, Peak, Servers, OneZone, ThreeZones, Units, Hour, Event string }
)

// setup is what an example is made of.
type setup struct {
	server, redis, monitoring instance
	least, most               int
	nats                      int
	endpoints                 bool
	// reserves: the balancer's units are reserved before an event.
	reserves bool
}

// crowds are the rows of each example's table.
var cloudCrowds = map[string][]int{
	"small": {10_000, 50_000, 100_000, 200_000},
	"large": {200_000, 500_000, 1_000_000, 3_000_000},
}

// writeClouds writes the examples' tables into their README, between its marks.
func writeClouds(docs string) error {
	for example := range cloudCrowds {
		file := filepath.Join(docs, examplesDir, example, "README.md")
		page, err := cloudReadme(docs, example)
		if errors.Is(err, fs.ErrNotExist) {
			continue // documents that are written elsewhere have no examples beside them
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, page, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// cloudReadme is an example's README with the table as it should be.
func cloudReadme(docs, example string) ([]byte, error) {
	dir := filepath.Join(docs, examplesDir, example)
	is, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		return nil, err
	}
	measured, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	if err != nil {
		return nil, err
	}
	page, err := cloudOf(costsIn(string(measured)), dir, cloudCrowds[example])
	if err != nil {
		return nil, err
	}
	var table bytes.Buffer
	if err := cloud.Execute(&table, page); err != nil {
		return nil, err
	}
	const begin, end = "<!-- capacity: make scaling -->\n", "<!-- /capacity -->\n"
	before, rest, found := bytes.Cut(is, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !found || !closed {
		return nil, fmt.Errorf("%s/README.md has no marks for its table: %s%s", dir, begin, end)
	}
	return bytes.Join([][]byte{before, []byte(begin), table.Bytes(), []byte(end), after}, nil), nil
}

// readSetup reads an example's sizes from its variables and its modules.
func readSetup(dir string) (s setup, names map[string]string, err error) {
	names = make(map[string]string)
	text := func(dir, expression string) string {
		if err != nil {
			return ""
		}
		var m *terraform.Module
		var e *terraform.Evaluated
		if m, err = terraform.Load(dir); err != nil {
			return ""
		}
		values, failed := m.Sample()
		if err = failed; err != nil {
			return ""
		}
		if e, err = m.Evaluate(terraform.Given{Variables: values, Now: "2026-12-01T00:00:00Z"}); err != nil {
			return ""
		}
		var t string
		t, err = e.Text(expression)
		return t
	}
	typed := func(part, dir, expression string) instance {
		names[part] = text(dir, expression)
		m, ok := instances[names[part]]
		if !ok && err == nil {
			err = fmt.Errorf("the price of a %s is not known: add it to instances", names[part])
		}
		return m
	}
	number := func(expression string) int {
		n, failed := strconv.Atoi(text(dir, expression))
		if failed != nil && err == nil {
			err = failed
		}
		return n
	}
	s.server, s.redis = typed("server", dir, "var.server_type"), typed("redis", dir, "var.redis_type")
	s.monitoring = typed("monitoring", filepath.Join(dir, "../../modules/monitoring"), "var.instance_type")
	s.least, s.most = number("var.min_servers"), number("var.max_servers")
	if err != nil {
		return s, nil, err
	}
	m, err := terraform.Load(dir)
	if err != nil {
		return s, nil, err
	}
	s.reserves = len(m.Of("variable", "reserved_units")) == 1
	network := m.Of("module", "network")[0].Body.Attributes
	nat, diags := network["nat"].Expr.Value(nil)
	if diags.HasErrors() {
		return s, nil, diags
	}
	inside, diags := network["endpoints"].Expr.Value(nil)
	if diags.HasErrors() {
		return s, nil, diags
	}
	s.nats, s.endpoints = map[string]int{"per_zone": zones, "one": 1, "none": 0}[nat.AsString()], inside.True()
	return s, names, nil
}

// hour is what so many servers cost, with all that is there besides.
func (s setup) hour(servers int) float64 {
	sum := float64(servers)*s.server.hour + nodes*s.redis.hour + s.monitoring.hour + balancerHour +
		float64(s.nats)*natHour + float64(s.nats+zones)*addressHour
	if s.endpoints {
		sum += zones * endpoints * endpointHour
	}
	return sum
}

// perServer is how many polls a second one is planned for.
func (s setup) perServer(c costs) float64 {
	return perSecondAt(c.serverPoll) * cloudReserve * float64(s.server.cores)
}

func cloudOf(c costs, dir string, crowds []int) (cloudPage, error) {
	s, names, err := readSetup(dir)
	if err != nil {
		return cloudPage{}, err
	}
	if c.serverPoll == 0 || c.redisPoll == 0 {
		return cloudPage{}, errors.New("performance.md has no costs of the Redis store: make bench")
	}
	page := cloudPage{
		Servers: names["server"], Redis: names["redis"], Monitoring: names["monitoring"], Least: s.least, Most: s.most,
		Idle: dollars(s.hour(s.least) * 24), Up: dollars(s.hour(s.most)),
		Reserves: s.reserves, PerServer: count(roundDown(s.perServer(c))), RequestsTarget: count(requestsTarget(c, s.server)),
	}
	for _, n := range crowds {
		for _, within := range []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute} {
			page.Rows = append(page.Rows, s.row(c, n, within))
		}
	}
	return page, nil
}

// requestsTarget is how many requests a minute a server is kept at.
func requestsTarget(c costs, m instance) int {
	return roundDown(setup{server: m}.perServer(c) * 60)
}

// row is what a crowd needs that comes within a while.
func (s setup) row(c costs, n int, within time.Duration) cloudRow {
	f := foresee(n, 600, within.Milliseconds())
	joins := float64(n) / within.Seconds()
	busy := (f.peak*c.serverPoll + joins*c.serverJoin) / 1e6
	servers := max(s.least, int(math.Ceil(busy/half/cloudReserve/float64(s.server.cores))))
	redis := 100 * (f.peak*c.redisPoll + joins*c.redisJoin) / 1e6

	// The rush sets the size of all; what is paid for hours is the line after it.
	line := foresee(n, 600, window.MinuteMillis).settled
	rushUnits := max(joins/unitConnects, float64(n)/unitConnected, f.peak*pollBytes*3600/1e9/unitGB)
	lineUnits := max(float64(n)/unitConnected, line*pollBytes*3600/1e9/unitGB)
	// What is reserved is paid whether it is used or not.
	reserved := 0.0
	if units := math.Ceil(rushUnits); s.reserves && units >= minReserved {
		reserved = units
	}
	hour := s.hour(servers) + max(reserved, lineUnits)*unitHour + line*answerBytes*3600/1e9*outGB
	return cloudRow{
		Visitors: count(n), Within: fmt.Sprintf("%.0f s", within.Seconds()), Joins: count(int(joins)), Peak: count(int(f.peak)),
		Servers: s.servers(servers), OneZone: share(redis), ThreeZones: share(redis / zones),
		Units: count(int(math.Ceil(rushUnits))), Hour: dollars(hour), Event: dollars(hour*eventHours + reserved*unitHour*reservedHours),
	}
}

// servers marks what the example does not allow.
func (s setup) servers(n int) string {
	if n > s.most {
		return fmt.Sprintf("%d: raise `max_servers`", n)
	}
	return strconv.Itoa(n)
}

// share of a core of Redis; beyond half it is not planned for, beyond all of it
// visitors are told to come again.
func share(percent float64) string {
	switch {
	case percent > 100:
		return fmt.Sprintf("**%.0f %%**", percent)
	case percent > 100*half:
		return fmt.Sprintf("*%.0f %%*", percent)
	default:
		return figure(percent, "%")
	}
}

func dollars(v float64) string {
	if v >= 100 {
		return "$" + count(int(math.Round(v)))
	}
	return fmt.Sprintf("$%.2f", v)
}
