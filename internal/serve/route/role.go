package route

import (
	"slices"
	"strings"
)

// Role is what a person or a machine may do. Each role may do all that those before it may.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"   // reads
	Operator Role = "operator" // changes zones, for what an event needs
	Admin    Role = "admin"    // makes and deletes zones, changes what is the whole room's
)

// Roles are all roles, the one that may do the least first.
var Roles = []Role{Viewer, Operator, Admin}

// Covers reports whether the role may do what the other one may. What is no role covers nothing.
func (r Role) Covers(other Role) bool {
	return slices.Contains(Roles, r) && slices.Index(Roles, r) >= slices.Index(Roles, other)
}

// Zoned reports whether the call is about one zone.
func (r *Route) Zoned() bool { return strings.Contains(r.Path, "{zoneId}") }

// Needs says in a sentence which role the call needs; "" for none.
func (r *Route) Needs() string {
	switch {
	case r.Role == "":
		return ""
	case r.Zoned():
		return "Needs the role " + string(r.Role) + " in the zone."
	case r.Change:
		return "Needs the role " + string(r.Role) + " in all zones."
	}
	return "Needs the role " + string(r.Role) + "."
}
