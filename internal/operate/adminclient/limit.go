package adminclient

import (
	"context"
	"net/http"
	"net/url"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
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

// LimitStats is what one server has seen of a policy.
type LimitStats = policyset.Stats

// LimitStats returns what the server has seen of a policy.
func (c *Client) LimitStats(ctx context.Context, name string) (Reply[LimitStats], error) {
	return call[LimitStats](ctx, c, http.MethodGet, limitPath(name)+"/stats", condition{}, nil)
}
