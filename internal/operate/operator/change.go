package operator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/strictyaml"
	"github.com/openqueue/waitingroom/internal/zone"
)

// change returns s with those settings changed that body, a JSON object,
// names. It returns a *serve.FieldError for what is no JSON object and a
// *serve.InvalidError for unknown names, null, wrong types, repeated names, another
// zone's name, and values out of range: all of them at once.
func change(s zone.Settings, body []byte) (zone.Settings, error) {
	members, err := readMembers(body)
	if err != nil {
		return zone.Settings{}, err
	}
	var faults []string
	zoneID, given := s.ZoneID, make(map[string]bool, len(members))
	for _, m := range members {
		x := zone.Table.Find(m.name)
		switch {
		case x == nil && m.name != zone.IDName:
			faults = append(faults, fmt.Sprintf("%q is not a setting", m.name))
		case given[m.name]:
			faults = append(faults, m.name+" is given twice")
		case bytes.Equal(m.value, []byte("null")):
			faults = append(faults, m.name+" must not be null: leave it out")
		case x == nil && json.Unmarshal(m.value, &zoneID) != nil:
			faults = append(faults, m.name+" must be a string")
		case x != nil && x.Own: // as whoever sends back what it got
		case x != nil && x.Of != "":
			faults = append(faults, readStrictly(&s, x, m.value)...)
		case x != nil && x.Decode(&s, func(at any) error { return json.Unmarshal(m.value, at) }) != nil:
			faults = append(faults, m.name+" must be "+x.Kind())
		}
		given[m.name] = true
	}
	if s.ZoneID != zoneID {
		faults = append(faults, "zoneId must be that of the path, or left out")
	}
	faults = append(faults, s.Faults()...)
	if len(faults) > 0 {
		return zone.Settings{}, &serve.InvalidError{Faults: faults}
	}
	return s, nil
}

// readStrictly sets in s what has members of its own, all of which must be known.
func readStrictly(s *zone.Settings, x *zone.Setting, value json.RawMessage) (faults []string) {
	r := strictyaml.Reader{Lenient: true} // an event's settings may be numbers
	// A fault is noted by the reader.
	_ = x.Decode(s, func(at any) error {
		var n yaml.Node
		if err := yaml.Unmarshal(value, &n); err != nil {
			return err // it is JSON, which is YAML
		}
		r.Value(n.Content[0], x.Name, at)
		return nil
	})
	for _, f := range r.Faults {
		faults = append(faults, f.Text)
	}
	return faults
}

// member is one member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// readMembers returns the members of a JSON object in their order, repeated ones
// included: encoding/json would hide those, and would take PERMINUTE for
// perMinute.
func readMembers(body []byte) ([]member, error) {
	if !json.Valid(body) {
		return nil, &serve.FieldError{Field: serve.BodyField, Reason: "is not valid JSON"}
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, &serve.FieldError{Field: serve.BodyField, Reason: "must be a JSON object"}
	}
	var all []member
	for dec.More() {
		var m member
		name, err := dec.Token()
		if err := errors.Join(err, dec.Decode(&m.value)); err != nil { // it was valid above
			return nil, fmt.Errorf("operator: read members: %w", err)
		}
		m.name, _ = name.(string) // the names of a valid object are strings
		all = append(all, m)
	}
	return all, nil
}
