package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/openqueue/waitingroom/internal/window"
)

// What the examples of deploy/terraform carry and cost: computed from the costs
// of a request in performance.json, and from the prices and numbers below.

// examplesDir is where the examples are, from the folder of the documents.
const examplesDir = "../deploy/terraform/examples"

// instance is a type of AWS instances.
type instance struct {
	Type  string
	cores int     // as AWS counts them: two share one of the processor's
	hour  float64 // US dollars an hour, on demand, Linux, us-east-1
}

// The types that the examples have.
var (
	t3Medium   = instance{"t3.medium", 2, .0416}
	c7iLarge   = instance{"c7i.large", 2, .08925}
	c7iXLarge  = instance{"c7i.xlarge", 4, .1785}
	c7i2XLarge = instance{"c7i.2xlarge", 8, .357}
)

// example is what one is made of, and the crowds of its table. A test holds it against
// the example's own variables.
type example struct {
	name                      string
	Server, Redis, Monitoring instance
	Least, Most               int // servers
	nats                      int
	endpoints                 int  // in each zone of availability
	Reserves                  bool // the balancer's units are reserved before an event
	crowds                    []int
}

var examples = []example{
	{
		name: "small", Server: c7iLarge, Redis: c7iLarge, Monitoring: t3Medium, Least: 2, Most: 4, nats: 1,
		crowds: []int{10_000, 50_000, 100_000, 200_000},
	},
	{
		name: "large", Server: c7iXLarge, Redis: c7i2XLarge, Monitoring: t3Medium, Least: 3, Most: 12, nats: zones, endpoints: 5, Reserves: true,
		crowds: []int{200_000, 500_000, 1_000_000, 3_000_000},
	},
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
	// cloudReserve is left besides the half that stays free: a request was
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
)

// hour is what so many servers cost, with all that is there besides.
func (e example) hour(servers int) float64 {
	return float64(servers)*e.Server.hour + nodes*e.Redis.hour + e.Monitoring.hour + balancerHour +
		float64(e.nats)*natHour + float64(e.nats+zones)*addressHour + float64(zones*e.endpoints)*endpointHour
}

// perServer is how many polls a second one is planned for.
func (e example) perServer(c costs) float64 {
	return perSecondAt(c.ServerPoll) * cloudReserve * float64(e.Server.cores)
}

// requestsTarget is how many requests a minute a server is kept at.
func (e example) requestsTarget(c costs) int { return roundDown(e.perServer(c) * 60) }

type (
	// cloudPage is what an example's table is filled with.
	cloudPage struct {
		example
		Idle, Up                  float64 // dollars, a day and an hour
		PerServer, RequestsTarget int
		Rows                      []cloudRow
	}
	cloudRow struct {
		need
		Servers, Most, Units int
		Hour, Event          float64 // dollars
	}
)

// page is the example's README with the table as it should be.
func (e example) page(c costs, is string) (string, error) {
	if c.ServerPoll == 0 || c.RedisPoll == 0 {
		return "", errors.New("performance.json has no costs of the Redis store: make bench")
	}
	const begin, end = "<!-- capacity: make scaling -->\n", "<!-- /capacity -->\n"
	before, rest, found := strings.Cut(is, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("it has no marks for its table: %s%s", begin, end)
	}
	page := cloudPage{
		example: e, Idle: e.hour(e.Least) * 24, Up: e.hour(e.Most),
		PerServer: roundDown(e.perServer(c)), RequestsTarget: e.requestsTarget(c),
	}
	for _, n := range e.crowds {
		for _, within := range rushes {
			page.Rows = append(page.Rows, e.row(c.rush(n, within)))
		}
	}
	var table strings.Builder
	err := pages.ExecuteTemplate(&table, "cloud.md.tmpl", page)
	return before + begin + table.String() + end + after, err
}

// row is what a rush needs. It sets the size of all; what is paid for hours is the
// line after it.
func (e example) row(rush need) cloudRow {
	waiting, line := float64(rush.Visitors), foresee(rush.Visitors, 600, window.MinuteMillis).settled
	servers := max(e.Least, int(math.Ceil(rush.Cores/cloudReserve/float64(e.Server.cores))))
	units := max(rush.Joins/unitConnects, waiting/unitConnected, rush.Polls*pollBytes*3600/1e9/unitGB)
	lineUnits := max(waiting/unitConnected, line*pollBytes*3600/1e9/unitGB)
	// What is reserved is paid whether it is used or not.
	reserved := 0.0
	if units := math.Ceil(units); e.Reserves && units >= minReserved {
		reserved = units
	}
	hour := e.hour(servers) + max(reserved, lineUnits)*unitHour + line*answerBytes*3600/1e9*outGB
	return cloudRow{
		need: rush, Servers: servers, Most: e.Most, Units: int(math.Ceil(units)), Hour: hour,
		Event: hour*eventHours + reserved*unitHour*reservedHours,
	}
}

// OneZone is the share of a core of Redis with all in one zone; ThreeZones with as
// many zones as masters.
func (r cloudRow) OneZone() string    { return share(r.Redis) }
func (r cloudRow) ThreeZones() string { return share(r.Redis / zones) }

// share marks percent of a core of Redis: beyond half it is not planned for, beyond
// all of it visitors are told to come again.
func share(percent float64) string {
	switch {
	case percent > 100:
		return fmt.Sprintf("**%.0f %%**", percent)
	case percent > 100*idleShare:
		return fmt.Sprintf("*%.0f %%*", percent)
	default:
		return figure(percent, "%")
	}
}

func dollars(v float64) string {
	if v >= 100 {
		return "$" + count(math.Round(v))
	}
	return fmt.Sprintf("$%.2f", v)
}
