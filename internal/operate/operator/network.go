package operator

import (
	"context"
	"fmt"

	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/serve"
)

// MaxNetworks is the most networks that Networks returns.
const MaxNetworks = 1000

// Networks counts joins by network. *network.Shares does.
type Networks interface {
	// List returns the networks of a zone with the most joins, at most so many, and the counts of all.
	List(zoneID string, most int) (all network.Counts, rows []network.Row)
}

// WithNetworks has the service list the networks that n has counted.
func (s *Service) WithNetworks(n Networks) *Service {
	s.networks = n
	return s
}

// ZoneNetworks are the networks whose visitors joined a zone at this server. Other servers count others.
type ZoneNetworks struct {
	ZoneID string `json:"zoneId"`
	// Minutes is for how long joins count.
	Minutes int64 `json:"minutes"`
	network.Counts
	Networks []ZoneNetwork `json:"networks"`
}

// ZoneNetwork is one of them. Share is its own share, in per cent; nil if the settings give it none.
type ZoneNetwork struct {
	network.Row
	Share *float64 `json:"share,omitempty"`
}

// Part is the network's part of all joins, in per cent.
func (n ZoneNetworks) Part(of ZoneNetwork) float64 {
	return 100 * float64(of.Joins) / float64(max(1, n.Joins))
}

// Networks returns the networks of a zone with the most joins, at most so many, 1 to MaxNetworks. It returns a *serve.FieldError for
// another number, and for a name that can be no zone's.
func (s *Service) Networks(ctx context.Context, zoneID string, most int) (ZoneNetworks, error) {
	if most < 1 || most > MaxNetworks {
		return ZoneNetworks{}, &serve.FieldError{Field: "limit", Reason: fmt.Sprintf("must be between 1 and %d", MaxNetworks)}
	}
	z, err := s.Get(ctx, zoneID)
	if err != nil {
		return ZoneNetworks{}, err
	}
	out := ZoneNetworks{ZoneID: zoneID, Minutes: network.Minutes, Networks: []ZoneNetwork{}}
	if s.networks == nil {
		return out, nil
	}
	all, rows := s.networks.List(zoneID, most)
	out.Counts = all
	for _, row := range rows {
		one := ZoneNetwork{Row: row}
		if share, own := z.OwnShare(row.Network); own {
			one.Share = &share
		}
		out.Networks = append(out.Networks, one)
	}
	return out, nil
}
