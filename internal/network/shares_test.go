package network_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sale = "SALE"

// server counts on a clock that stands until it is moved.
type server struct {
	*network.Shares
	*parts.Clock
	zone zone.Settings
	// honest is how many others have come.
	honest int
}

func newServer(file *network.File, change func(*zone.Settings)) *server {
	s := &server{zone: zone.Defaults(sale), Clock: parts.NewClock()}
	s.Shares = network.New(file, slog.New(slog.DiscardHandler), s.Now)
	change(&s.zone)
	return s
}

// ip is an address, or the zero value for "".
func ip(text string) netip.Addr {
	if text == "" {
		return netip.Addr{}
	}
	return netip.MustParseAddr(text)
}

func atMost(percent int64, own ...string) func(*zone.Settings) {
	return func(z *zone.Settings) { z.MaxShareByNetwork, z.NetworkShares = percent, own }
}

// join takes a place while there is a line, and reports whether it could.
func (s *server) join(from string) bool { return s.joins(from, false, true) }

func (s *server) joins(from string, spared, lined bool) bool {
	j, err := s.Begin(&s.zone, ip(from), spared, lined)
	if err != nil {
		j.End(network.Counts{Refused: 1})
		return false
	}
	j.End(network.Counts{Joins: 1})
	return true
}

// all are the counts of the zone, and of the largest networks.
func (s *server) all() (network.Counts, []network.Row) {
	l := s.List(s.zone, 10)
	return l.Counts, l.Networks
}

// others has so many join, each from a network of its own.
func (s *server) others(t testing.TB, n int) {
	t.Helper()
	for range n {
		s.honest++
		if !s.join(fmt.Sprintf("2001:%x:%x::1", 0xe00+s.honest>>16, s.honest&0xffff)) {
			t.Fatalf("an honest visitor is refused as number %d", s.honest)
		}
	}
}

// of is the row of a network.
func (s *server) of(name string) network.Row {
	rows := s.List(s.zone, 100_000).Networks
	i := slices.IndexFunc(rows, func(r network.Row) bool { return r.Network == name })
	if i < 0 {
		return network.Row{}
	}
	return rows[i]
}

// TestShare: a network gets at most its share, and the first joins in any case.
func TestShare(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*zone.Settings)
		from   func(i int) string
		others int
		want   int
	}{
		"a /64":   {atMost(5), func(i int) string { return fmt.Sprintf("2001:db8:ffff:1::%x", i) }, 1_900, 100},
		"a /24":   {atMost(10), func(i int) string { return fmt.Sprintf("198.51.100.%d", i%256) }, 900, 100},
		"two /64": {atMost(5), func(i int) string { return fmt.Sprintf("2001:db8:ffff:%x::1", i%2) }, 1_900, 100},
		"a /48":   {atMost(5), func(i int) string { return fmt.Sprintf("2001:db8:ffff:%x::1", i) }, 1_900, 100},
		"two /48": {atMost(5), func(i int) string { return fmt.Sprintf("2001:db8:%x:%x::1", i%2, i) }, 1_800, 198},
		"a /20":   {atMost(5), func(i int) string { return fmt.Sprintf("198.51.%d.%d", 96+i%15, i%256) }, 1_900, 100},
		"a /64 in a /48 with a share": {
			atMost(50, "2001:db8:ffff::/48=1"), func(i int) string { return fmt.Sprintf("2001:db8:ffff:%x::1", i) }, 1_980, 20,
		},
		"translated IPv4":         {atMost(5), func(i int) string { return fmt.Sprintf("64:ff9b::198.51.100.%d", i%256) }, 1_900, 100},
		"the first joins":         {atMost(5), func(int) string { return "203.0.113.1" }, 0, network.Floor},
		"no bound":                {atMost(0), func(int) string { return "203.0.113.1" }, 0, 3_000},
		"all":                     {atMost(100), func(int) string { return "203.0.113.1" }, 0, 3_000},
		"no address":              {atMost(5), func(int) string { return "" }, 0, 3_000},
		"a share of its own":      {atMost(0, "203.0.113.0/24=1"), func(int) string { return "203.0.113.1" }, 9_900, 100},
		"a larger share":          {atMost(5, "203.0.113.0/24=50"), func(int) string { return "203.0.113.1" }, 900, 900},
		"none":                    {atMost(0, "2001:db8:ffff:1::/64=0"), func(i int) string { return fmt.Sprintf("2001:db8:ffff:1::%x", i) }, 100, 0},
		"another network's share": {atMost(5, "203.0.114.0/24=0"), func(int) string { return "203.0.113.1" }, 1_900, 100},
	} {
		s := newServer(nil, tt.change)
		s.others(t, tt.others)
		got := 0
		for i := range 3_000 {
			if s.join(tt.from(i)) {
				got++
			}
		}
		all, _ := s.all()
		if got != tt.want || all.Joins != int64(got+tt.others) || all.Refused != int64(3_000-got) {
			t.Errorf("%s: %d places, want %d; counted %+v", name, got, tt.want, all)
		}
	}
}

// TestFloorOfTheRoom: all servers together admit as many joins of a network, whatever its share, as one would.
func TestFloorOfTheRoom(t *testing.T) {
	t.Parallel()
	for _, servers := range []int64{1, 3, 20} {
		got := 0
		for range servers {
			s := newServer(nil, atMost(5))
			s.Servers = func() int64 { return servers }
			for range network.Floor {
				if s.join("203.0.113.1") {
					got++
				}
			}
		}
		if got > network.Floor || got < network.Floor-2 {
			t.Errorf("%d servers: %d joins, want %d", servers, got, network.Floor)
		}
	}
}

// TestQuietDay: while nobody has to line up, nobody is refused, but a network has no more joins under way than Floor.
func TestQuietDay(t *testing.T) {
	t.Parallel()
	s := newServer(nil, atMost(5))
	for i := range 500 {
		if !s.joins("203.0.113.1", false, false) {
			t.Fatalf("refused as number %d, with room", i)
		}
	}
	if s.join("203.0.113.1") {
		t.Error("admitted above the share, with a line")
	}
	if !s.joins("203.0.113.1", true, true) {
		t.Error("refused one whom the shop names")
	}
	under := 0
	for {
		if _, err := s.Begin(&s.zone, ip("203.0.113.1"), false, false); err != nil {
			break
		}
		under++
	}
	if under != network.Floor {
		t.Errorf("%d joins under way, want %d", under, network.Floor)
	}
}

// TestJoinsUnderWay: joins that end without a place leave no trace, and those under way count, so that many at once are no way
// around the share.
func TestJoinsUnderWay(t *testing.T) {
	t.Parallel()
	s := newServer(nil, atMost(5))
	s.others(t, 1_900)
	var under []*network.Join
	for range 3_000 {
		p, err := s.Begin(&s.zone, ip("203.0.113.1"), false, true)
		if err == nil {
			under = append(under, p)
		} else if p.End(network.Counts{Refused: 1}); !errors.Is(err, network.ErrShare) {
			t.Fatal(err)
		}
	}
	if len(under) != 100 { // as many as one after another: see TestShare
		t.Errorf("%d under way at once", len(under))
	}
	for _, p := range under {
		p.End(network.Counts{})
	}
	if r := s.of("203.0.112.0/20"); r.Joins != 0 || r.Refused != 3_000-100 {
		t.Errorf("%+v", r)
	}
	if !s.join("203.0.113.1") {
		t.Error("refused although no place was taken")
	}
}

// TestUnused: in a zone with a cap, while there is room, a network has at most its share of the cap in admissions that nobody used, and
// at least a fifth of a small cap. What is used, given back or expired no longer counts, and neither do other networks.
func TestUnused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ maxInside, want int64 }{{50, 10}, {10_000, 500}, {200, 20}, {2, 1}, {0, 3_000}} {
		s := newServer(nil, atMost(5))
		s.zone.MaxInside = tt.maxInside
		given := uint64(0)
		enter := func(from string) bool {
			j, err := s.Begin(&s.zone, ip(from), false, false)
			if err != nil {
				return false
			}
			given++
			j.Admitted(admission(given), time.Minute)
			j.End(network.Counts{Joins: 1, Admissions: 1})
			return true
		}
		got := int64(0)
		for i := range 3_000 {
			if enter(fmt.Sprintf("2001:db8:ffff:%x::1", i)) {
				got++
			}
		}
		if got != tt.want {
			t.Errorf("of %d inside: %d, want %d", tt.maxInside, got, tt.want)
		}
		if tt.maxInside == 0 {
			continue
		}
		if !enter("2001:db8:fffe::1") {
			t.Errorf("of %d inside: another network is refused", tt.maxInside)
		}
		s.Used(sale, admission(1))
		s.Used(sale, admission(1))
		if !enter("2001:db8:ffff::1") || enter("2001:db8:ffff::1") {
			t.Errorf("of %d inside: one was used, and not one more could enter", tt.maxInside)
		}
		s.Forward(time.Minute)
		if !enter("2001:db8:ffff::1") {
			t.Errorf("of %d inside: refused when all have expired", tt.maxInside)
		}
	}
}

// binary is an admission.
func admission(n uint64) (admission [16]byte) {
	copy(admission[:], fmt.Sprint(n))
	return admission
}

// TestLevel: the more the networks of a newcomer have taken, the more a challenge costs, and of a crowd a network may have a hundredth.
func TestLevel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ others, joins, want int }{{0, 100, 0}, {0, 101, 1}, {0, 300, 2}, {20_000, 180, 0}, {20_000, 300, 1}} {
		s := newServer(nil, atMost(0))
		s.others(t, tt.others)
		for i := range tt.joins {
			s.join(fmt.Sprintf("2001:db8:ffff:%x::1", i))
		}
		j, err := s.Begin(&s.zone, ip("2001:db8:ffff:ffff::1"), false, true)
		other, otherErr := s.Begin(&s.zone, ip("2001:db8::1"), false, true)
		if err != nil || otherErr != nil || j.Level != tt.want || other.Level != 0 {
			t.Errorf("%d of %d: level %d, another network %d; want %d", tt.joins, tt.others, j.Level, other.Level, tt.want)
		}
	}
}

// TestCounts: what operators see, the largest networks first.
func TestCounts(t *testing.T) {
	t.Parallel()
	s := newServer(nil, atMost(0, "203.0.113.0/24=0"))
	for range 3 {
		s.join("198.51.100.7")
	}
	s.join("192.0.2.1")
	s.join("203.0.113.1")
	j, err := s.Begin(&s.zone, ip("2001:db8::1"), false, true)
	parts.Must(t, err)
	j.End(network.Counts{Joins: 1, Admissions: 1})
	s.Admit(&s.zone, ip("198.51.100.8"))
	s.Admit(&s.zone, ip(""))
	got, err := json.Marshal(s.List(s.zone, 3))
	want := `{"zoneId":"SALE","minutes":15,"joins":5,"admissions":3,"refused":1,"networks":[` +
		`{"network":"198.51.100.0/24","joins":3,"admissions":1,"refused":0,"part":60},` +
		`{"network":"192.0.2.0/24","joins":1,"admissions":0,"refused":0,"part":20},` +
		`{"network":"2001:db8::/64","joins":1,"admissions":1,"refused":0,"part":20}]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if own := s.of("203.0.113.0/24").Share; own == nil || *own != 0 {
		t.Errorf("the network with a share of its own has %v", own)
	}
	if other := s.List(zone.Defaults("OTHER"), 3); other.Counts != (network.Counts{}) || len(other.Networks) != 0 {
		t.Errorf("another zone has %+v", other)
	}
}

// TestForgets: joins count for ten minutes, or for as long as places are set aside, and nothing is kept for longer. Those that are
// counted stay so when the zone's settings change.
func TestForgets(t *testing.T) {
	t.Parallel()
	for keeps, span := range map[int64]time.Duration{0: 10 * time.Minute, 601: 11 * time.Minute, 3600: time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{Shares: network.New(nil, slog.New(slog.DiscardHandler), time.Now), zone: zone.Defaults(sale)}
			s.Start(t.Context())
			defer s.Stop()
			s.zone.KeepPlaceSeconds = 900
			s.join("203.0.113.1")
			s.zone.KeepPlaceSeconds = keeps
			<-time.After(span - 10*time.Second)
			was := s.of("203.0.113.0/24").Joins
			s.join("203.0.113.1")
			if r := s.of("203.0.113.0/24"); r.Joins != was+1 || span <= 15*time.Minute && was != 1 {
				t.Errorf("before %v: %+v", span, r)
			}
			<-time.After(12 * time.Second)
			if r := s.of("203.0.113.0/24"); r.Joins != 1 {
				t.Errorf("after %v: %+v", span, r)
			}
			<-time.After(span + time.Minute)
			if kept := s.Kept(); kept != 0 {
				t.Errorf("%d networks are kept", kept)
			}
		})
	}
}

// TestKeepsFewNetworks: a crowd of any size leaves at most 4,096 networks, and the one with most joins is not forgotten.
func TestKeepsFewNetworks(t *testing.T) {
	t.Parallel()
	s := newServer(nil, atMost(5))
	s.others(t, 2_000)
	got := 0
	for range 12 {
		s.others(t, 1_000)
		for i := range 1_000 {
			if s.join(fmt.Sprintf("2001:db8:ffff:ffff::%x", i)) {
				got++
			}
		}
		s.others(t, 5_000)
		if kept := s.Kept(); kept > 4_096 {
			t.Fatalf("%d networks are kept", kept)
		}
	}
	if all, _ := s.all(); int64(got)*100 > 5*all.Joins || s.of("2001:db8:ffff:ffff::/64").Joins != int64(got) {
		t.Errorf("%d of %+v", got, all)
	}
}

// TestShareOfAllServers: however joins are spread over servers, no network has more than its share of the sum, and Floor for each
// server. On each server alone that holds at each join, in the ten minutes before.
func TestShareOfAllServers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		percent := rapid.Int64Range(1, 100).Draw(t, "percent")
		servers := make([]*server, rapid.IntRange(1, 4).Draw(t, "servers"))
		for i := range servers {
			servers[i] = newServer(nil, atMost(percent))
		}
		aged := false
		for range rapid.IntRange(1, 100).Draw(t, "joins") {
			s := servers[rapid.IntRange(0, len(servers)-1).Draw(t, "server")]
			if rapid.IntRange(0, 20).Draw(t, "later") == 0 {
				aged = true
				for _, s := range servers {
					s.Forward(time.Duration(rapid.IntRange(1, 400).Draw(t, "seconds")) * time.Second)
				}
			}
			from := rapid.SampledFrom([]string{"203.0.113.1", "203.0.113.2", "198.51.100.1", "2001:db8::1", "2001:db8::2", ""}).Draw(t, "from")
			for range rapid.IntRange(1, 30).Draw(t, "times") {
				was, _ := s.all()
				if !s.join(from) {
					break
				}
				all, rows := s.all()
				if all.Joins != was.Joins+1 {
					t.Fatalf("%+v, then %+v", was, all)
				}
				if from == "" {
					continue
				}
				i := slices.IndexFunc(rows, func(r network.Row) bool { return r.Network == networkOf[from] })
				if joins := rows[i].Joins; joins > network.Floor && 100*joins > percent*all.Joins {
					t.Fatalf("%+v of %+v with %d %%", rows[i], all, percent)
				}
			}
		}
		sum, of := int64(0), map[string]int64{}
		for _, s := range servers {
			all, rows := s.all()
			sum += all.Joins
			for _, r := range rows {
				of[r.Network] += r.Joins
			}
		}
		for name, joins := range of {
			if !aged && 100*(joins-int64(len(servers)*network.Floor)) > percent*sum {
				t.Fatalf("%s has %d of %d with %d %%", name, joins, sum, percent)
			}
		}
	})
}

// networkOf is the network of each address of TestShareOfAllServers.
var networkOf = map[string]string{
	"203.0.113.1": "203.0.113.0/24", "203.0.113.2": "203.0.113.0/24", "198.51.100.1": "198.51.100.0/24",
	"2001:db8::1": "2001:db8::/64", "2001:db8::2": "2001:db8::/64",
}
