package adminclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

const limitsPath = "/admin/limits"

func limitPath(name string) string { return limitsPath + "/" + url.PathEscape(name) }

// Limits are all policies, in the order of their names.
type Limits struct {
	Limits []limit.Policy `json:"limits"`
}

// Limits returns all policies of limits.
func (c *Client) Limits(ctx context.Context) (Reply[Limits], error) {
	return call[Limits](ctx, c, http.MethodGet, limitsPath, condition{}, nil)
}

// Limit returns one policy, with its version. One that is not there is an
// ErrNotFound.
func (c *Client) Limit(ctx context.Context, name string) (Reply[limit.Policy], error) {
	return call[limit.Policy](ctx, c, http.MethodGet, limitPath(name), condition{}, nil)
}

// PutLimit makes a policy or sets all of it: with a version, only if it is still
// the one that had it; without, only if there is none. Else the error is
// ErrConflict.
func (c *Client) PutLimit(ctx context.Context, p limit.Policy, version string) (Reply[limit.Policy], error) {
	return call[limit.Policy](ctx, c, http.MethodPut, limitPath(p.Name), condition{version: version, absent: version == ""}, p)
}

// DeleteLimit removes a policy, if it is still the one that had this version.
func (c *Client) DeleteLimit(ctx context.Context, name, version string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, limitPath(name), condition{version: version}, nil)
	return err
}

// LimitChanges are entries of the record of changes of policies, newest first.
type LimitChanges struct {
	Changes []limit.Change `json:"policyChanges"`
}

// LimitChanges returns the newest changes of one policy, or of all when name is
// "": at most so many.
func (c *Client) LimitChanges(ctx context.Context, name string, most int) (Reply[LimitChanges], error) {
	query := url.Values{"limit": {strconv.Itoa(most)}}
	if name != "" {
		query.Set("policy", name)
	}
	return call[LimitChanges](ctx, c, http.MethodGet, "/admin/audit?"+query.Encode(), condition{}, nil)
}

// LimitStats is what one server has seen of a policy.
type LimitStats struct {
	Name string `json:"name"`
	// FailingPartitions is how many parts of the store do not answer now.
	FailingPartitions int `json:"failingPartitions"`
	// RecentSeconds is how many seconds Recent is of.
	RecentSeconds int         `json:"recentSeconds"`
	Tiers         []LimitTier `json:"tiers"`
	// HeavyHitters were refused most in the last minute or two.
	HeavyHitters []LimitHeavyHitter `json:"heavyHitters"`
}

// LimitTier is what became of the questions of one tier.
type LimitTier struct {
	Tier string `json:"tier"`
	// Total is since the server was started.
	Total  LimitCounts `json:"total"`
	Recent LimitCounts `json:"recent"`
}

// LimitCounts are how many questions had which outcome.
type LimitCounts struct {
	Allowed           uint64 `json:"allowed"`
	Refused           uint64 `json:"refused"`
	RefusedFromMemory uint64 `json:"refusedFromMemory"`
	AllowedOpen       uint64 `json:"allowedOpen"`
	RefusedClosed     uint64 `json:"refusedClosed"`
	AllowedLocally    uint64 `json:"allowedLocally"`
	RefusedLocally    uint64 `json:"refusedLocally"`
}

// LimitHeavyHitter is one who was refused: a hash of the key, and about how often.
type LimitHeavyHitter struct {
	Key     string `json:"key"`
	Refused int64  `json:"refused"`
}

// LimitStats returns what the server has seen of a policy.
func (c *Client) LimitStats(ctx context.Context, name string) (Reply[LimitStats], error) {
	return call[LimitStats](ctx, c, http.MethodGet, limitPath(name)+"/stats", condition{}, nil)
}
