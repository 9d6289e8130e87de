package pass

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/serve/background"
)

const (
	// revokedEvery is how often the list of what was revoked is fetched.
	revokedEvery = 5 * time.Second
	// maxRevoked bounds the list, in bytes: one that is full has some 11,000.
	maxRevoked = 64 << 10
)

// Inside is a room in which a zone has maxInside, for a service that verifies passes by itself instead of a gateway. It fetches what
// operators have revoked, and tells the room who is inside. Its methods may be called from any goroutine.
type Inside struct {
	verifier      *Verifier
	zone          string
	revoked, site string
	list          atomic.Pointer[revokedClaims]
	group         background.Group
	stop          context.CancelFunc
}

// revokedClaims are those of the list.
type revokedClaims struct {
	UpTo   int64    `json:"revokedUpTo"`
	Passes []string `json:"revoked"`
	jwt.RegisteredClaims
}

// Inside returns the room of a zone, which is to be closed. public is the room's public address, such as https://queue.example; site
// that of its listener for sites, such as http://queue-server:8083. It waits for the first list, at most until ctx ends; while
// none could be fetched, Revoked says of no pass that it is revoked. Options.HTTP makes the calls.
func (v *Verifier) Inside(ctx context.Context, public, site, zone string) *Inside {
	r := &Inside{verifier: v, zone: zone}
	r.revoked = public + "/.well-known/revoked?zone=" + url.QueryEscape(zone)
	r.site = site + "/site/" + url.PathEscape(zone)
	_ = r.fetch(ctx) // tried again in a while
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.group.Start(background, func(ctx context.Context) {
		for {
			select {
			case <-time.After(revokedEvery):
				_ = r.fetch(ctx) // the list before stays
			case <-ctx.Done():
				return
			}
		}
	})
	return r
}

// Close ends what Verifier.Inside began.
func (r *Inside) Close() {
	r.stop()
	r.group.Stop()
}

// Revoked reports whether an operator has revoked a pass, as far as is known: five seconds later at most.
func (r *Inside) Revoked(p Pass) bool {
	list := r.list.Load()
	id, err := uuid.Parse(p.ID)
	if list == nil || err != nil {
		return false
	}
	// The first 48 bits of the jti are when it was given.
	return int64(binary.BigEndian.Uint64(id[:])>>16) <= list.UpTo || slices.Contains(list.Passes, p.ID)
}

// Here tells the room that the visitor of a pass is inside for the zone's sessionSeconds from now on: call it when a session begins,
// and when it is renewed. If the room does not answer, call it again: nobody else gets the visitor's slot before the pass expires.
func (r *Inside) Here(ctx context.Context, p Pass) error { return r.tell(ctx, "/here", p.ID) }

// Done tells the room that the visitor of a pass is inside no longer.
func (r *Inside) Done(ctx context.Context, p Pass) error {
	return r.tell(ctx, "/done", p.ID)
}

func (r *Inside) tell(ctx context.Context, path, jti string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.site+path, strings.NewReader(`{"jti": "`+jti+`"}`))
	if err != nil {
		return fmt.Errorf("pass: %w", err)
	}
	q.Header.Set("Content-Type", "application/json")
	answer, err := r.verifier.http.Do(q)
	if err != nil {
		return fmt.Errorf("pass: tell the room: %w", err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusNoContent {
		return errors.Join(fmt.Errorf("pass: the room answers %s to %s", answer.Status, path), err)
	}
	return nil
}

// fetch puts the list into force.
func (r *Inside) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, r.revoked, http.NoBody)
	if err != nil {
		return fmt.Errorf("pass: %w", err)
	}
	answer, err := r.verifier.http.Do(q)
	if err != nil {
		return fmt.Errorf("pass: fetch what was revoked: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxRevoked))
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return fmt.Errorf("pass: fetch what was revoked: %w", err)
	}
	var list revokedClaims
	_, err = r.verifier.parser.ParseWithClaims(string(text), &list, func(t *jwt.Token) (any, error) {
		id, _ := t.Header["kid"].(string)
		if t.Header["typ"] != "revoked+jwt" || !slices.Equal(list.Audience, jwt.ClaimStrings{r.zone}) {
			return nil, fmt.Errorf("%w: not the list of what was revoked in %s", ErrInvalid, r.zone)
		}
		return find(ctx, r.verifier.keys, id, t.Method.Alg(), func() error { return nil })
	})
	if err == nil {
		r.list.Store(&list)
	}
	return err
}
