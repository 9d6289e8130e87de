package limit

import (
	"cmp"
	"reflect"
	"slices"
)

// MaxChanges is how many changes of policies are kept: the latest ones.
const MaxChanges = 200

// Change is one entry of the record of changes. There is no entry for a change that
// changes nothing, nor for putting back policies that a store has lost.
type Change struct {
	// AtMillis is when the change was made, in Unix milliseconds on the store's clock.
	AtMillis int64  `json:"at"`
	Policy   string `json:"policy"`
	// By is the name that the operator gave, at most 64 bytes; may be empty.
	By string `json:"by"`
	// Was is nil if the policy was made by this change, Now if it was deleted.
	Was *Policy `json:"was"`
	Now *Policy `json:"now"`
}

// Changes returns the entries that lead from one set of policies to another, in the order of the
// policies' names. It leaves AtMillis at 0.
func Changes(was, now PolicySet, by string) []Change {
	var all []Change
	for _, p := range was.Policies {
		if next, ok := now.Find(p.Name); !ok {
			all = append(all, Change{Policy: p.Name, By: by, Was: new(p.Clone())})
		} else if !reflect.DeepEqual(p.WithDefaults(), next.WithDefaults()) {
			all = append(all, Change{Policy: p.Name, By: by, Was: new(p.Clone()), Now: &next})
		}
	}
	for _, p := range now.Policies {
		if _, ok := was.Find(p.Name); !ok {
			all = append(all, Change{Policy: p.Name, By: by, Now: new(p.Clone())})
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return cmp.Compare(a.Policy, b.Policy) })
	return all
}
