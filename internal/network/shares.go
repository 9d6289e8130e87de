package network

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// Minutes is for how many minutes joins count at least.
	Minutes = 10
	// Floor is how many joins of a network in these minutes all servers together admit, whatever the share: an office, a family. Each
	// server has an equal part of them, and at least one.
	Floor = 20
	// maxNetworks is how many networks of a zone are kept: with their counts, some 2 MB; 7 MB where places are kept for an hour.
	maxNetworks = 4_096
	// oneSite is from how many bits on a network of IPv6 is one subscriber's, whatever the provider (RFC 6177). No network of IPv4 has
	// as many bits.
	oneSite = 56
)

// ErrShare: the newcomer's network has its share of the line. Nobody took a place. Compare with errors.Is.
var ErrShare = refusal.New("network: it has its share", refusal.Refusal{
	Status: http.StatusTooManyRequests, Code: "network_share",
	Title:    "The network has its share of the line",
	Detail:   "Many joined from this network lately. Join again when Retry-After has passed.",
	RetryMin: 10, RetryMax: 20,
	Outcome: "network_share",
	Ordered: true,
	Page:    refusal.Page{State: "away", Text: "fullText", AgainSeconds: 30}, // there is no place that could be kept
	Alert: "a network has its share of the line ([challenge.md](challenge.md#places-by-network)). `queue-server networks " +
		"list SHOP` says which. If bots: leave it. If a large provider of honest visitors: raise its share, " +
		"`networkShares=AS64500=40`",
	Readers: refusal.Visitors,
	Doc: "The visitors of one network get at most a share of the line (`maxShareByNetwork`, `networkShares`), and lately as many joined from " +
		"this one. No place was taken; whoever has a place keeps it.",
})

// Shares counts joins by network. It is safe for concurrent use.
type Shares struct {
	// Servers says how many servers the visitors come to; nil for one. It is to be set before the first use.
	Servers func() int64

	file       *File
	log        *slog.Logger
	now        func() time.Time
	began      time.Time
	background background.Group

	mu     sync.Mutex
	zones  map[string]map[string]*tally // by zone and network; "" is all of a zone
	unused map[string]*unused           // by zone
}

// New returns Shares that know the AS numbers of a file, which may be nil. The log hears of later versions of the file that cannot be
// read. Minutes are those of now.
func New(file *File, log *slog.Logger, now func() time.Time) *Shares {
	return &Shares{file: file, log: log, now: now, began: now(), zones: map[string]map[string]*tally{}, unused: map[string]*unused{}}
}

// Start forgets what is too old, and reads the file if it has changed, once a minute until Stop.
func (s *Shares) Start(ctx context.Context) {
	s.background.Start(ctx, background.Every(time.Minute, func(context.Context) {
		s.forget()
		s.file.refresh(s.log)
	}))
}

// Stop ends what Start began.
func (s *Shares) Stop() { s.background.Stop() }

// servers is how many servers share the room's floor and cap.
func (s *Shares) servers() int64 {
	if s.Servers == nil {
		return 1
	}
	return max(1, s.Servers())
}

// floor is this server's part of Floor.
func (s *Shares) floor() int64 { return max(1, Floor/s.servers()) }

// minutes is for how many minutes joins count in a zone: as long as a place is kept that its visitor no longer asks for, so that no network
// takes its share again and again, and comes back to all of these places at once.
func minutes(z *zone.Settings) int64 { return max(Minutes, (z.KeepPlaceSeconds+59)/60) }

func (s *Shares) minute() int64 { return int64(s.now().Sub(s.began) / time.Minute) }

// of is a network that an address is in. If bounded, it has a share, in per cent.
type of struct {
	network, name string
	// wide: many subscribers of a provider may share it.
	wide, bounded bool
	share         float64
}

// networks returns those that an address is in, the widest first; none for the zero value.
func (s *Shares) networks(z *zone.Settings, from netip.Addr) (all []of) {
	if !from.IsValid() {
		return nil
	}
	a := address.Subscriber(from)
	by := s.file.find(a)
	if by.Number > 0 {
		all = append(all, of{network: fmt.Sprint("AS", by.Number), name: by.Name})
	}
	for _, p := range zone.NetworksOf(a) {
		all = append(all, of{network: p.String(), wide: by.Number > 0 && p.Bits() < oneSite})
	}
	general := z.MaxShareByNetwork > 0
	for i := len(all) - 1; i >= 0; i-- {
		one := &all[i]
		if share, own := z.OwnShare(one.network); own {
			one.bounded, one.share = true, share
			general = false // a share of its own holds in the place of those of wider networks
		} else {
			one.bounded, one.share = general && !one.wide, float64(z.MaxShareByNetwork)
		}
	}
	return all
}

// Join is a join under way, or one that ErrShare has refused. A nil *Join counts nothing.
type Join struct {
	// Level is how much the networks of the newcomer have taken lately: 0 for as usual, up to 2. A challenge costs twice as much with
	// each level.
	Level int
	// Holds: a network of the newcomer has many admissions that nobody used yet.
	Holds bool

	shares *Shares
	zoneID string
	of     []*tally
	// weight is 1 under way, and 0 when refused.
	weight int64
}

// Begin begins a join from an address, the zero value if that is not known. It returns ErrShare if a network of that has its share of the
// zone, and then a Join for the count of refusals. lined says that newcomers have to line up. While they need not, ErrShare is returned
// only if the share is 0, if as many joins of the network as Floor are under way, or, in a zone with a cap, if the network has its share
// of the cap in admissions that nobody used yet. Who is spared gets no ErrShare.
func (s *Shares) Begin(z *zone.Settings, from netip.Addr, spared, lined bool) (*Join, error) {
	networks := s.networks(z, from)
	s.mu.Lock()
	defer s.mu.Unlock()
	minute := s.minute()
	s.expire(z.ZoneID)
	j := &Join{shares: s, zoneID: z.ZoneID, of: s.tallies(z, networks, minute), weight: 1}
	all := j.of[0].joins(minute)
	for i, one := range networks {
		t := j.of[i+1]
		over := t.over(one.share, all, minute, lined)
		if !lined && z.MaxInside > 0 {
			over = one.share == 0 || t.unused+t.pending >= max(1, max(fewest(z), int64(one.share*float64(z.MaxInside)/100))/s.servers())
		}
		if one.bounded && !spared && over {
			return &Join{shares: s, of: []*tally{j.of[0], t}}, ErrShare
		}
		if one.name == "" {
			j.Level = max(j.Level, t.level(all, minute))
			j.Holds = j.Holds || z.MaxInside > 0 && t.unused >= max(1, fewest(z)/s.servers())
		}
	}
	for _, t := range j.of {
		t.pending++
	}
	return j, nil
}

// fewest is how many unused admissions a network may always have in a zone with a cap: Floor, and at most a fifth of a small cap.
func fewest(z *zone.Settings) int64 { return min(Floor, max(1, z.MaxInside/5)) }

// End ends the join, and counts what became of it.
func (j *Join) End(c Counts) {
	if j == nil {
		return
	}
	j.shares.mu.Lock()
	defer j.shares.mu.Unlock()
	for _, t := range j.of {
		t.pending -= j.weight
		t.at(j.shares.minute()).add(c)
	}
}

// Near returns the network whose visitors may solve the challenges of one another: a /24 of IPv4, a /56 of IPv6, "" for the zero value.
func Near(from netip.Addr) string {
	if !from.IsValid() {
		return ""
	}
	all := zone.NetworksOf(address.Subscriber(from))
	return all[1].String()
}

// unused are the admissions of a zone with a cap that nobody used yet.
type unused struct {
	of map[[16]byte]*Join
	// order is in the order in which they were given.
	order []given
}

// given is an admission, and until when it can be used.
type given struct {
	admission [16]byte
	until     time.Time
}

// Admitted notes the admission that the join ends with: it counts for the networks until it is used, and at most for so long.
func (j *Join) Admitted(admission [16]byte, until time.Duration) {
	s := j.shares
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.unused[j.zoneID]
	if u == nil {
		u = &unused{of: map[[16]byte]*Join{}}
		s.unused[j.zoneID] = u
	}
	if u.of[admission] != nil {
		return // it was given before
	}
	u.of[admission], u.order = j, append(u.order, given{admission, s.now().Add(until)})
	for _, t := range j.of {
		t.unused++
	}
}

// Used takes in that an admission of a zone is used, or over.
func (s *Shares) Used(zoneID string, admission [16]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.use(zoneID, admission)
}

// use is called with the lock held.
func (s *Shares) use(zoneID string, admission [16]byte) {
	u := s.unused[zoneID]
	if u == nil || u.of[admission] == nil {
		return
	}
	for _, t := range u.of[admission].of {
		t.unused--
	}
	delete(u.of, admission)
}

// expire drops the admissions that nobody can use any more. It is called with the lock held.
func (s *Shares) expire(zoneID string) {
	u, now := s.unused[zoneID], s.now()
	for u != nil && len(u.order) > 0 && !now.Before(u.order[0].until) {
		s.use(zoneID, u.order[0].admission)
		if u.order = u.order[1:]; len(u.order) == 0 {
			delete(s.unused, zoneID)
		}
	}
}

// Admit counts a visitor who was admitted after a wait.
func (s *Shares) Admit(z *zone.Settings, from netip.Addr) {
	if j, err := s.Begin(z, from, true, false); err == nil { // always, who is spared
		j.End(Counts{Admissions: 1})
	}
}

// tallies returns those of all of a zone, and then of the networks. If the zone has too many, the half with the fewest joins is
// forgotten first. It is to be called with the lock held.
func (s *Shares) tallies(z *zone.Settings, networks []of, minute int64) (all []*tally) {
	kept := s.zones[z.ZoneID]
	if kept == nil {
		kept = map[string]*tally{}
		s.zones[z.ZoneID] = kept
	}
	networks = append([]of{{}}, networks...)
	for _, one := range networks {
		if kept[one.network] == nil && len(kept) > maxNetworks {
			var joins []int64
			for _, t := range kept {
				joins = append(joins, t.joins(minute))
			}
			slices.Sort(joins)
			for network, t := range kept {
				if network != "" && t.joins(minute) <= joins[maxNetworks/2] && len(kept) > maxNetworks/2 {
					delete(kept, network)
				}
			}
		}
		if kept[one.network] == nil {
			kept[one.network] = &tally{shares: s, name: one.name}
		}
		kept[one.network].span(minutes(z))
		all = append(all, kept[one.network])
	}
	return all
}

// forget drops what is too old.
func (s *Shares) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	minute := s.minute()
	for zoneID := range s.unused {
		s.expire(zoneID)
	}
	for zoneID, kept := range s.zones {
		for network, t := range kept {
			if t.sum(minute) == (Counts{}) && t.pending == 0 && t.unused == 0 && (network != "" || len(kept) == 1) {
				delete(kept, network)
			}
		}
		if len(kept) == 0 {
			delete(s.zones, zoneID)
		}
	}
}

// List is what operators see of a zone: the counts of all, and the networks with the most joins. A visitor may be in several of them.
type List struct {
	ZoneID  string `json:"zoneId"`
	Minutes int64  `json:"minutes" doc:"For how many minutes joins count." example:"10"`
	Counts
	Networks []Row `json:"networks" doc:"The one with the most joins first. A visitor may be in several. Of networks with the same joins the narrowest is listed."`
}

// Row is a network of a zone: an AS, whose Name it has, or one of zone.NetworksOf.
type Row struct {
	Network string `json:"network" doc:"An autonomous system (AS), a /20 or /24 of IPv4, or a /48, /56 or /64 of IPv6." example:"AS64500"`
	Name    string `json:"name,omitempty" doc:"Whose AS it is." example:"Example Mobile"`
	Counts
	Part  float64  `json:"part" doc:"Its part of all joins, in per cent." example:"4.99"`
	Share *float64 `json:"share,omitempty" doc:"The share that networkShares gives it, in per cent." example:"5"`
}

// List returns the networks of a zone with the most joins, at most so many.
func (s *Shares) List(z zone.Settings, most int) List {
	l := List{ZoneID: z.ZoneID, Minutes: minutes(&z), Networks: []Row{}}
	s.mu.Lock()
	sums, hidden := map[string]Counts{}, map[string]bool{}
	for network, t := range s.zones[z.ZoneID] {
		sums[network] = t.sum(s.minute())
	}
	for network, sum := range sums {
		p, err := netip.ParsePrefix(network)
		if err != nil {
			continue
		}
		for _, wider := range zone.NetworksOf(p.Addr()) {
			hidden[wider.String()] = hidden[wider.String()] || wider.Bits() < p.Bits() && sums[wider.String()] == sum
		}
	}
	for network, t := range s.zones[z.ZoneID] {
		_, own := z.OwnShare(network)
		switch sum := sums[network]; {
		case network == "":
			l.Counts = sum
		case sum != Counts{} && (own || !hidden[network]):
			l.Networks = append(l.Networks, Row{Network: network, Name: t.name, Counts: sum})
		}
	}
	s.mu.Unlock()
	slices.SortFunc(l.Networks, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Joins, a.Joins), cmp.Compare(b.Refused, a.Refused), cmp.Compare(a.Network, b.Network))
	})
	l.Networks = l.Networks[:min(most, len(l.Networks))]
	for i := range l.Networks {
		row := &l.Networks[i]
		row.Part = 100 * float64(row.Joins) / float64(max(1, l.Joins))
		if share, own := z.OwnShare(row.Network); own {
			row.Share = &share
		}
	}
	return l
}
