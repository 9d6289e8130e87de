package setting

import (
	"encoding/json"
	"errors"
	"slices"
)

// Table are the settings of a T, in the order in which they are shown.
type Table[T any] []Setting[T]

// Find returns the setting of that name, nil if there is none.
func (t Table[T]) Find(name string) *Setting[T] {
	for i := range t {
		if t[i].Name == name {
			return &t[i]
		}
	}
	return nil
}

// Names are those of all settings.
func (t Table[T]) Names() []string {
	all := make([]string, len(t))
	for i := range t {
		all[i] = t[i].Name
	}
	return all
}

// Typed are the names of those that somebody else than the servers sets.
func (t Table[T]) Typed() []string {
	return slices.DeleteFunc(t.Names(), func(name string) bool { return t.Find(name).Own })
}

// Fill sets all settings of s to their defaults.
func (t Table[T]) Fill(s *T) {
	for i := range t {
		t[i].set(s, t[i].Default)
	}
}

// Check says what is wrong with s, a sentence a setting.
func (t Table[T]) Check(s T) (faults []string) {
	for i := range t {
		if fault := t[i].Check(s); fault != "" {
			faults = append(faults, fault)
		}
	}
	return faults
}

// Differences are the settings that are not the same in both.
func (t Table[T]) Differences(a, b T) []*Setting[T] {
	var all []*Setting[T]
	for i := range t {
		if !t[i].Same(a, b) {
			all = append(all, &t[i])
		}
	}
	return all
}

// Merge sets in current, which is the caller's own, what the change from was to now
// set, but for what somebody else has set meanwhile: those settings are theirs.
func (t Table[T]) Merge(current, was, now T) (next T, theirs []*Setting[T]) {
	next = current
	for _, x := range t.Differences(was, now) {
		if !x.Same(current, was) {
			theirs = append(theirs, x)
			continue
		}
		x.Take(&next, now)
	}
	return next, theirs
}

// AppendJSON appends the settings of s that are in the table to a JSON object that has
// been begun with another member.
func (t Table[T]) AppendJSON(b []byte, s T) ([]byte, error) {
	for i := range t {
		value, err := json.Marshal(t[i].Value(s))
		if err != nil {
			return nil, err
		}
		b = append(b, `,"`+t[i].Name+`":`...)
		b = append(b, value...)
	}
	return b, nil
}

// ReadJSON sets in s what the object names. What it names besides is let be: a newer
// version may have written it.
func (t Table[T]) ReadJSON(s *T, members map[string]json.RawMessage) error {
	var errs []error
	for i := range t {
		if value, given := members[t[i].Name]; given {
			errs = append(errs, t[i].Decode(s, func(at any) error { return json.Unmarshal(value, at) }))
		}
	}
	return errors.Join(errs...)
}
