package login

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve/route"
	"github.com/openqueue/waitingroom/internal/zone"
)

// ErrNoGroup says that somebody is known, and has no group that may do anything here. Compare with errors.Is.
var ErrNoGroup = refusal.New("login: no group with a role", refusal.Refusal{
	Status: http.StatusForbidden, Code: "forbidden",
	Title:   "None of your groups may operate this waiting room",
	Readers: refusal.Operators,
})

// Group is a group of the provider, or of the proxy, and what it may do.
type Group struct {
	// Group is the group's name, as the provider writes it; the name of a person where a proxy tells no groups.
	Group string `yaml:"group"`
	// Role is what people of the group may do, in zones with one of the patterns Zones; in all zones when empty.
	Role  route.Role `yaml:"role"`
	Zones []string   `yaml:"zones"`
}

// Groups are those with a role. Somebody in several may do what each of them may, each in its zones.
type Groups []Group

// Check returns what is wrong with the groups.
func (g Groups) Check() error {
	for i, one := range g {
		switch fault := people.CheckZones(one.Zones); {
		case one.Group == "":
			return fmt.Errorf("group %d has no name", i+1)
		case !slices.Contains(route.Roles, one.Role):
			return fmt.Errorf("group %s: role %q must be viewer, operator or admin", one.Group, one.Role)
		case fault != "":
			return fmt.Errorf("group %s: zones %s", one.Group, fault)
		}
	}
	return nil
}

// identity returns who has that name and id, and is in the groups of. It returns ErrNoGroup for somebody in none of g, and for a
// name that cannot stand in the record.
func (g Groups) identity(proof audit.Proof, name, id string, of []string) (people.Identity, error) {
	if err := zone.CheckBy(name); err != nil || name == "" || name == people.RootName || len(id) > maxID {
		return people.Identity{}, &noGroupError{fmt.Sprintf("The name %.64q cannot stand in the record of changes: "+
			"ask an admin of this waiting room to choose another claim or header for names.", name)}
	}
	who := people.Identity{Name: name, Proof: proof, ID: id}
	for _, one := range g {
		if !slices.Contains(of, one.Group) {
			continue
		}
		zones := one.Zones
		if slices.Contains(zones, "*") {
			zones = nil
		}
		who.Grants = append(who.Grants, people.Grant{Role: one.Role, Zones: zones})
	}
	if who.Grants != nil {
		return who, nil
	}
	has := "no group"
	if len(of) > 0 {
		has = strings.Join(of[:min(len(of), maxShown)], ", ")
	}
	return people.Identity{}, &noGroupError{fmt.Sprintf("You are logged in as %s, with %s. Ask an admin of this waiting room to give you or one of your groups a role, "+
		"or whoever manages the groups to add you to one that has a role.", name, has)}
}

const (
	// maxID is what OpenID Connect allows for a subject.
	maxID = 255
	// maxShown is how many of somebody's groups the refusal names.
	maxShown = 20
)

// noGroupError says whom to ask.
type noGroupError struct{ detail string }

func (e *noGroupError) Error() string  { return ErrNoGroup.Error() + ": " + e.detail }
func (e *noGroupError) Unwrap() error  { return ErrNoGroup }
func (e *noGroupError) Detail() string { return e.detail }
