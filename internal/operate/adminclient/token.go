package adminclient

import (
	"context"
	"net/http"
	"net/url"

	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/serve"
)

const tokensPath = "/admin/tokens"

// Tokens returns all tokens that are good, in the order of their names.
func (c *Client) Tokens(ctx context.Context) (Reply[people.List], error) {
	return call[people.List](ctx, c, http.MethodGet, tokensPath, serve.Condition{}, nil)
}

// CreateToken makes a token. Its answer alone has the token itself.
func (c *Client) CreateToken(ctx context.Context, w people.Wanted) (Reply[people.Made], error) {
	return call[people.Made](ctx, c, http.MethodPost, tokensPath, serve.Condition{}, w)
}

// RevokeToken ends the token of that id, or all of that name.
func (c *Client) RevokeToken(ctx context.Context, name string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, tokensPath+"/"+url.PathEscape(name), serve.Condition{}, nil)
	return err
}

// RevokeSessions ends all of somebody's sessions of the console.
func (c *Client) RevokeSessions(ctx context.Context, subject string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, "/admin/sessions/"+url.PathEscape(subject), serve.Condition{}, nil)
	return err
}
