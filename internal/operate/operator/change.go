package operator

import (
	"github.com/openqueue/waitingroom/internal/markup"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/strictyaml"
	"github.com/openqueue/waitingroom/internal/zone"
)

// readFields reads body, a JSON object or nothing, into the fields of a struct. what names the object in a fault. It returns a
// *serve.FieldError or a *serve.InvalidError.
func readFields(body []byte, what string, fields any) error {
	if len(body) == 0 {
		return nil
	}
	n, err := strictyaml.Object(body)
	if err != nil {
		return &serve.FieldError{Field: serve.BodyField, Reason: err.Error()}
	}
	var r strictyaml.Reader
	if r.Struct(n, what, fields); len(r.Faults) > 0 {
		return &serve.InvalidError{Faults: []string{r.Faults[0].Text}}
	}
	return nil
}

// change returns s with those settings changed that body, a JSON object,
// names. It returns a *serve.FieldError for what is no JSON object and a
// *serve.InvalidError for unknown names, null, wrong types, repeated names, another
// zone's name, and values out of range: all of them at once.
func change(s zone.Settings, body []byte) (zone.Settings, error) {
	n, err := strictyaml.Object(body)
	if err != nil {
		return zone.Settings{}, &serve.FieldError{Field: serve.BodyField, Reason: err.Error()}
	}
	var r strictyaml.Reader
	zoneID := s.ZoneID
	strictyaml.Settings(&r, n, "a zone", zone.Table, &s, zone.IDName, &zoneID)
	var faults []string
	for _, f := range r.Faults {
		faults = append(faults, f.Text)
	}
	if s.ZoneID != zoneID {
		faults = append(faults, "zoneId must be that of the path, or left out")
	}
	faults = append(faults, s.Faults()...)
	if len(faults) > 0 {
		return zone.Settings{}, &serve.InvalidError{Faults: faults}
	}
	s, _ = markup.Clean(s)
	return s, nil
}
