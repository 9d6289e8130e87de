package operator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/openqueue/waitingroom/internal/serve"
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
	zoneID, targets, given := s.ZoneID, targetsOf(&s), make(map[string]bool, len(members))
	for _, m := range members {
		target, known := targets[m.name]
		switch {
		case !known:
			faults = append(faults, fmt.Sprintf("%q is not a setting", m.name))
		case given[m.name]:
			faults = append(faults, m.name+" is given twice")
		case bytes.Equal(m.value, []byte("null")):
			faults = append(faults, m.name+" must not be null: leave it out")
		case json.Unmarshal(m.value, target) != nil:
			faults = append(faults, m.name+" must be "+kindOf(target))
		}
		given[m.name] = true
	}
	if s.ZoneID != zoneID {
		faults = append(faults, "zoneId must be that of the path, or left out")
		s.ZoneID = zoneID
	}
	faults = append(faults, rangeFaults(s)...)
	if len(faults) > 0 {
		return zone.Settings{}, &serve.InvalidError{Faults: faults}
	}
	return s, nil
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
		if err == nil {
			m.name, _ = name.(string) // the names of a valid object are strings
			err = dec.Decode(&m.value)
		}
		if err != nil { // it was valid above
			return nil, fmt.Errorf("operator: read members: %w", err)
		}
		all = append(all, m)
	}
	return all, nil
}

// targetsOf returns where each setting is kept in s, by its name in JSON. Being
// read off the type, it cannot miss a setting.
func targetsOf(s *zone.Settings) map[string]any {
	v := reflect.ValueOf(s).Elem()
	all := make(map[string]any, v.NumField())
	for i := range v.NumField() {
		all[v.Type().Field(i).Tag.Get("json")] = v.Field(i).Addr().Interface()
	}
	return all
}

// kindOf names what a setting must be, for the operator.
func kindOf(target any) string {
	if _, number := target.(*int64); number {
		return "a whole number"
	}
	return "a string"
}

// rangeFaults returns what Validate finds, one sentence each, without the
// prefix that is for logs.
func rangeFaults(s zone.Settings) []string {
	err := s.Validate()
	if err == nil {
		return nil
	}
	all := []error{err}
	if joined, several := err.(interface{ Unwrap() []error }); several {
		all = joined.Unwrap()
	}
	var faults []string
	for _, one := range all {
		if errors.Is(one, zone.ErrInvalid) {
			faults = append(faults, strings.TrimPrefix(one.Error(), zone.ErrInvalid.Error()+": "))
		}
	}
	return faults
}
