package zone_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/zone"
)

// TestTableHasEveryField: a field of Settings that is not in Table would be neither kept
// nor shown.
func TestTableHasEveryField(t *testing.T) {
	t.Parallel()
	s := zone.Defaults("Z")
	v := reflect.ValueOf(&s).Elem()
	rows := map[string]string{}
	for i := range zone.Table {
		x := &zone.Table[i]
		at := fmt.Sprintf("%p", x.At(&s))
		if rows[at] != "" {
			t.Errorf("table.go: %s and %s are kept in one field", rows[at], x.Name)
		}
		rows[at] = x.Name
		if x.Name == "" || x.Label == "" || x.Hint == "" || x.Words(s) == "" || x.Meaning(s) == "" {
			t.Errorf("table.go: %s has no label, hint or words", x.Name)
		}
		if kind, is := reflect.TypeOf(x.Default), reflect.TypeOf(x.At(&s)).Elem(); kind != is {
			t.Errorf("table.go: the default of %s is %v, must be %v", x.Name, kind, is)
		}
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Name != "_" && f.Name != "ZoneID" && rows[fmt.Sprintf("%p", v.Field(i).Addr().Interface())] == "" {
			t.Errorf("table.go: there is no row for the field %s of Settings", f.Name)
		}
	}
	if err := s.Validate(); err != nil {
		t.Errorf("table.go: a default may not be set: %v", err)
	}
}

// TestSettingsAsJSON: what an older version has written has the defaults of what it does
// not know, what a newer one has written is read as far as it is known.
func TestSettingsAsJSON(t *testing.T) {
	t.Parallel()
	want := `{"zoneId":"Z","perMinute":600,"mode":"queue","windowSeconds":6}`
	b, err := json.Marshal(zone.Defaults("Z"))
	if err != nil || !strings.HasPrefix(string(b), strings.TrimSuffix(want, "}")) {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
	var s zone.Settings
	if err := json.Unmarshal([]byte(`{"zoneId":"Z","perMinute":5,"later":["x"]}`), &s); err != nil {
		t.Fatal(err)
	}
	old := zone.Defaults("Z")
	old.PerMinute = 5
	if !s.Equal(old) || s.Equal(zone.Defaults("Z")) {
		t.Errorf("%v", s)
	}
	for _, bad := range []string{`[]`, `"Z"`, `{"perMinute":"5"}`, `{"zoneId":5}`, `{"mode":1}`} {
		if err := json.Unmarshal([]byte(bad), &s); err == nil {
			t.Errorf("%s: read as %v", bad, s)
		}
	}
}

// TestTextsAsJSON: texts in one language are a string.
func TestTextsAsJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]zone.Texts{
		`""`: {}, `"Back soon."`: {"default": "Back soon."}, `{"de":"Gleich.","default":"Soon."}`: {"default": "Soon.", "de": "Gleich."},
	} {
		var s zone.Settings
		if err := json.Unmarshal([]byte(`{"zoneId":"Z","message":`+text+`}`), &s); err != nil || !reflect.DeepEqual(s.Message, want) {
			t.Errorf("%s: %v, %v", text, s.Message, err)
		}
		if again := s.String(); !strings.Contains(again, `"message":`+text) {
			t.Errorf("%s: written as %s", text, again)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	s := zone.Defaults("a b")
	s.PerMinute, s.Mode, s.OnStoreFailure, s.MaxInside = -1, "ajar", "", -1
	err := s.Validate()
	for _, want := range []string{
		`zoneId "a b" must be 1 to 64`, "perMinute is -1, must be between 0 and 6000000",
		`mode "ajar" must be queue, open or closed`, `onStoreFailure "" must be hold or admit`,
		"maxInside is -1, must be between 0 and 10000000",
	} {
		if err == nil || !strings.Contains(err.Error(), "zone: invalid settings: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	s = zone.Defaults("Z")
	s.MaxInside, s.OnStoreFailure = 5, zone.FailureAdmit
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "maxInside does not go with onStoreFailure admit") {
		t.Errorf("a cap, and each server admits by itself: %v", err)
	}
}
