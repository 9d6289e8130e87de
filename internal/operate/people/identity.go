package people

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve/route"
)

// ErrForbidden says that who asks is known, and may not do this. Compare with errors.Is.
var ErrForbidden = refusal.New("people: forbidden", refusal.Refusal{
	Status: http.StatusForbidden, Code: "forbidden",
	Title:   "Your role does not allow this",
	Detail:  "Your token has another role or other zones. Ask an admin: each call names the role that it needs.",
	Readers: refusal.Operators,
	Doc:     "The token is good, and its role or its zones do not allow the call. Each call of [the API](api.md) names its role.",
})

// RootName is the name of who shows the root token and claims no other.
const RootName = "root"

// Identity is who asks. The zero Identity is a stranger.
type Identity struct {
	// Name is the person's or machine's. That of root is claimed, and may be empty.
	Name  string
	Proof audit.Proof
	// ID is the token's, or the subject at the provider; it is no secret.
	ID string
	// Grants say what the identity may do. What one of them allows is allowed.
	Grants []Grant
	// Address is where the identity asks from.
	Address string
}

// Grant is a role in some zones.
type Grant struct {
	Role route.Role `json:"role"`
	// Zones are patterns of the names of zones, as path.Match has them. Empty: all zones.
	Zones []string `json:"zones,omitempty"`
}

// May reports whether the identity has the role in that zone.
func (i Identity) May(role route.Role, zoneID string) bool {
	return i.has(role, func(g Grant) bool {
		return len(g.Zones) == 0 || slices.ContainsFunc(g.Zones, func(pattern string) bool {
			matches, err := path.Match(pattern, zoneID)
			return matches && err == nil
		})
	})
}

// MayAll reports whether the identity has the role in all zones.
func (i Identity) MayAll(role route.Role) bool {
	return i.has(role, func(g Grant) bool { return len(g.Zones) == 0 })
}

// MaySomewhere reports whether the identity has the role in any zone.
func (i Identity) MaySomewhere(role route.Role) bool {
	return i.has(role, func(Grant) bool { return true })
}

// Sees reports whether the identity may read the zone.
func (i Identity) Sees(zoneID string) bool { return i.May(route.Viewer, zoneID) }

// has reports whether one of the identity's grants covers the role in the zones that in asks for.
func (i Identity) has(role route.Role, in func(Grant) bool) bool {
	return i.Proof != "" && slices.ContainsFunc(i.Grants, func(g Grant) bool { return g.Role.Covers(role) && in(g) })
}

// Allows returns ErrForbidden unless the identity may make the call; zoneID is the zone that it names, or "". A call of no zone
// that changes something is about the whole room: its caller must have the role in all zones.
func (i Identity) Allows(r route.Route, zoneID string) error {
	switch {
	case r.Zoned() && i.May(r.Role, zoneID), !r.Zoned() && i.MayAll(r.Role), !r.Zoned() && !r.Change && i.MaySomewhere(r.Role) && r.Role != route.Admin:
		return nil
	}
	return ErrForbidden
}

func rootIdentity(claimed, id string) Identity {
	return Identity{Name: claimed, Proof: audit.Root, ID: id, Grants: []Grant{{Role: route.Admin}}}
}

// String is the name as the record has it.
func (i Identity) String() string {
	if i.Name == "" && i.Proof == audit.Root {
		return RootName
	}
	return i.Name
}

// By is the identity as the record has it. The name of root, which anybody may claim, is left out where it is not known.
func (i Identity) By(via audit.Via) audit.By {
	by := audit.By{Name: i.Name, Proof: i.Proof, Address: i.Address, Via: via}
	if i.Proof != audit.Root {
		by.ProofID = i.ID
	}
	return by
}

type identityKey struct{}

// With returns a context of what the identity asks.
func With(ctx context.Context, i Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, i)
}

// Of returns who asks; a stranger where nobody was identified.
func Of(ctx context.Context) Identity {
	i, _ := ctx.Value(identityKey{}).(Identity)
	return i
}

// CheckZones returns what is wrong with patterns of zones; "" if nothing is.
func CheckZones(patterns []string) string {
	if len(patterns) > maxPatterns {
		return "must be 32 patterns at most"
	}
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil || p == "" || len(p) > maxPatternBytes || strings.Contains(p, "/") {
			return "has " + p + ", which is no pattern such as SALE-*"
		}
	}
	return ""
}

const (
	maxPatterns     = 32
	maxPatternBytes = 64
)
