package network

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// Minutes is for how many minutes joins count.
	Minutes = 10
	// Floor is how many joins of a network in these minutes each server admits, whatever the share: an office, a family.
	Floor = 20
	// maxNetworks is how many networks of a zone are kept: with their counts, some 2 MB.
	maxNetworks = 4_096
)

// ErrShare: the newcomer's network has its share of the line. Nobody took a place. Compare with errors.Is.
var ErrShare = errors.New("network: it has its share")

// Counts are what became of joins in the last ten minutes.
type Counts struct {
	// Joins counts places that were taken, Admissions visitors who were let in, Refused joins that ErrShare refused.
	Joins      int64 `json:"joins"`
	Admissions int64 `json:"admissions"`
	Refused    int64 `json:"refused"`
}

// tally counts one network, or all joins of a zone.
type tally struct {
	name string
	// pending counts joins under way.
	pending int64
	// minute is that of the newest bucket; the bucket of minute m is buckets[m % Minutes].
	minute  int64
	buckets [Minutes]Counts
}

// at empties the buckets that are too old, and returns that of the minute.
func (t *tally) at(minute int64) *Counts {
	for t.minute = max(t.minute, minute-Minutes); t.minute < minute; {
		t.minute++
		t.buckets[t.minute%Minutes] = Counts{}
	}
	return &t.buckets[minute%Minutes]
}

func (t *tally) sum(minute int64) (all Counts) {
	t.at(minute)
	for _, b := range t.buckets {
		all.Joins += b.Joins
		all.Admissions += b.Admissions
		all.Refused += b.Refused
	}
	return all
}

// counts are those of a zone.
type counts struct {
	all      tally
	networks map[string]*tally
}

// Shares counts joins by network. It is safe for concurrent use.
type Shares struct {
	file       *File
	log        *slog.Logger
	now        func() time.Time
	began      time.Time
	background background.Group

	mu    sync.Mutex
	zones map[string]*counts
	// forgot is the minute in which forget last ran.
	forgot int64
}

// New returns Shares that know the AS numbers of a file, which may be nil. The log hears of later versions of the file that cannot be
// read. Minutes are those of now.
func New(file *File, log *slog.Logger, now func() time.Time) *Shares {
	return &Shares{file: file, log: log, now: now, began: now(), zones: map[string]*counts{}}
}

// Start forgets what is too old, and reads the file when it changes, until Stop.
func (s *Shares) Start(ctx context.Context) {
	s.background.Start(ctx, background.Every(time.Second, func(context.Context) {
		s.file.refresh(s.log)
		s.forget()
	}))
}

// Stop ends what Start began.
func (s *Shares) Stop() { s.background.Stop() }

func (s *Shares) minute() int64 { return int64(s.now().Sub(s.began) / time.Minute) }

// of is a network that an address is in.
type of struct {
	network, name string
	// bounded: maxShareByNetwork is for networks like it.
	bounded bool
}

// networks returns those that an address is in; none for a text that is no address.
func (s *Shares) networks(from string) (all []of) {
	a, err := netip.ParseAddr(from)
	if err != nil {
		return nil
	}
	a = address.Subscriber(a)
	bits := zone.NetworkBitsIPv6
	if a.Is4() {
		bits = zone.NetworkBitsIPv4
	}
	number, name := s.file.find(a)
	if number != "" {
		all = append(all, of{number, name, true})
	}
	return append(all, of{network: netip.PrefixFrom(a, bits).Masked().String(), bounded: a.Is6() || number == ""})
}

// Newcomer is one who joins.
type Newcomer struct {
	// From is the address, "" if it is not known.
	From string
	// Spared is never refused. Lined says that newcomers have to line up.
	Spared, Lined bool
}

// Pending is a join under way. A nil *Pending counts nothing.
type Pending struct {
	shares *Shares
	of     []*tally // of the zone, and of its networks
}

// Join begins a join, which Settle ends. It returns ErrShare if a network of the newcomer has its share of the zone: then Refuse ends
// the join, unless it finds a place that an earlier one took. While nobody has to line up, ErrShare is returned only if the share is 0, or
// if as many joins of the network as Floor are under way.
func (s *Shares) Join(z *zone.Settings, n Newcomer) (*Pending, error) {
	networks := s.networks(n.From)
	s.mu.Lock()
	defer s.mu.Unlock()
	minute := s.minute()
	in := s.zone(z.ZoneID)
	p := &Pending{s, []*tally{&in.all}}
	for _, one := range networks {
		t := in.network(one, minute)
		p.of = append(p.of, t)
		share, own := z.OwnShare(one.network)
		if !own && one.bounded && z.MaxShareByNetwork > 0 {
			share, own = float64(z.MaxShareByNetwork), true
		}
		if own && !n.Spared && t.over(share, in.all.sum(minute).Joins, minute, n.Lined) {
			return &Pending{s, []*tally{&in.all, t}}, ErrShare
		}
	}
	for _, t := range p.of {
		t.pending++
	}
	return p, nil
}

// over reports whether another join would be more than the share, in per cent of all joins. Joins under way count as if they took
// places, and those of others as if they did not.
func (t *tally) over(share float64, all, minute int64, lined bool) bool {
	joins := t.sum(minute).Joins + t.pending + 1
	switch {
	case share == 0:
		return true
	case joins <= Floor, !lined && t.pending < Floor:
		return false
	}
	return float64(100*joins) > share*float64(all+1)
}

// Settle ends the join: it took a new place or not, and was let in or not.
func (p *Pending) Settle(joined, admitted bool) {
	if p == nil {
		return
	}
	p.shares.mu.Lock()
	defer p.shares.mu.Unlock()
	for _, t := range p.of {
		t.pending--
		t.count(p.shares.minute(), joined, admitted)
	}
}

// Refuse counts a join that ErrShare ended.
func (p *Pending) Refuse() {
	p.shares.mu.Lock()
	defer p.shares.mu.Unlock()
	for _, t := range p.of {
		t.at(p.shares.minute()).Refused++
	}
}

func (t *tally) count(minute int64, joined, admitted bool) {
	b := t.at(minute)
	if joined {
		b.Joins++
	}
	if admitted {
		b.Admissions++
	}
}

// Admit counts a visitor who was let in after a wait.
func (s *Shares) Admit(zoneID, from string) {
	networks := s.networks(from)
	s.mu.Lock()
	defer s.mu.Unlock()
	minute, in := s.minute(), s.zone(zoneID)
	in.all.count(minute, false, true)
	for _, one := range networks {
		in.network(one, minute).count(minute, false, true)
	}
}

// Row is a network of a zone.
type Row struct {
	// Network is an AS such as AS64500, a /24 of IPv4 or a /64 of IPv6. Name is whose AS it is.
	Network string `json:"network"`
	Name    string `json:"name,omitempty"`
	Counts
}

// List returns the networks of a zone with the most joins, at most so many, and the counts of all. A visitor may be in two of them.
func (s *Shares) List(zoneID string, most int) (all Counts, rows []Row) {
	s.mu.Lock()
	minute := s.minute()
	if in := s.zones[zoneID]; in != nil {
		all = in.all.sum(minute)
		for network, t := range in.networks {
			if sum := t.sum(minute); sum != (Counts{}) {
				rows = append(rows, Row{network, t.name, sum})
			}
		}
	}
	s.mu.Unlock()
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Joins, a.Joins), cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.Admissions, a.Admissions), cmp.Compare(a.Network, b.Network))
	})
	return all, rows[:min(most, len(rows))]
}

// zone returns the counts of a zone, to be called with the lock held.
func (s *Shares) zone(zoneID string) *counts {
	if s.zones[zoneID] == nil {
		s.zones[zoneID] = &counts{networks: map[string]*tally{}}
	}
	return s.zones[zoneID]
}

// network returns the counts of a network. If there are too many, it forgets the half of them with the fewest joins first.
func (c *counts) network(n of, minute int64) *tally {
	if t := c.networks[n.network]; t != nil {
		return t
	}
	if len(c.networks) >= maxNetworks {
		joins := make([]int64, 0, len(c.networks))
		for _, t := range c.networks {
			joins = append(joins, t.sum(minute).Joins+t.pending)
		}
		slices.Sort(joins)
		for network, t := range c.networks {
			if t.sum(minute).Joins+t.pending <= joins[len(joins)/2] && len(c.networks) > maxNetworks/2 {
				delete(c.networks, network)
			}
		}
	}
	t := &tally{name: n.name}
	c.networks[n.network] = t
	return t
}

// forget drops what is too old, once a minute.
func (s *Shares) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	minute := s.minute()
	if s.forgot == minute {
		return
	}
	s.forgot = minute
	for zoneID, in := range s.zones {
		for network, t := range in.networks {
			if t.sum(minute) == (Counts{}) && t.pending == 0 {
				delete(in.networks, network)
			}
		}
		if in.all.sum(minute) == (Counts{}) && in.all.pending == 0 {
			delete(s.zones, zoneID)
		}
	}
}
