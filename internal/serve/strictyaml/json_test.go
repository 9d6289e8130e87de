package strictyaml

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestObject: whatever is valid JSON is read as a JSON decoder reads it, and nothing else is.
func TestObject(t *testing.T) {
	t.Parallel()
	type all struct {
		A     string            `yaml:"a"`
		N     int64             `yaml:"n"`
		Yes   bool              `yaml:"yes"`
		List  []string          `yaml:"list"`
		Texts map[string]string `yaml:"texts"`
	}
	for text, want := range map[string]all{
		`{"a": "see https:\/\/shop.example"}`:                {A: "see https://shop.example"}, // as PHP writes it
		`{"a": "\ud83c\udf89"}`:                              {A: "🎉"},                        // as Python writes it
		`{"a": "\u2028\u0085 \"x\" \\ \t"}`:                  {A: "\u2028\u0085 \"x\" \\ \t"},
		`{"a": "\u0000\ufffd"}`:                              {A: "\x00\ufffd"},
		"\t{\"n\" :\t-3 , \r\n \"yes\":true}\n":              {N: -3, Yes: true},
		`{"a":"0600","n":600,"list":["yes","1","~","a: b"]}`: {A: "0600", N: 600, List: []string{"yes", "1", "~", "a: b"}},
		`{"texts":{"de":"x","<<":"y","#":"&a"}}`:             {Texts: map[string]string{"de": "x", "<<": "y", "#": "&a"}},
	} {
		n, err := Object([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var r Reader
		var got all
		if r.Struct(n, "a thing", &got); len(r.Faults) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", text, got, r.Faults, want)
		}
	}
	for text, want := range map[string]error{
		"": ErrJSON, "{": ErrJSON, "a: 1": ErrJSON, "{'a': 1}": ErrJSON, `{"a":1}{}`: ErrJSON, `{"a":1,}`: ErrJSON, `{"n":01}`: ErrJSON,
		strings.Repeat(`{"a":`, 20_000): ErrJSON, "\ufeff{}": ErrJSON, "{\"a\":\"\xff\"}": ErrJSON, "{\"a\":\"\x00\"}": ErrJSON,
		`{"a":"\ud83d"}`: ErrJSON, `{"a":"\udf89\ud83c"}`: ErrJSON, `{"a":"\ud83c\\udf89"}`: ErrJSON,
		"[]": ErrObject, `"a"`: ErrObject, "null": ErrObject, "5": ErrObject,
	} {
		if _, err := Object([]byte(text)); !errors.Is(err, want) || len(err.Error()) > 200 {
			t.Errorf("%.20s: %v, want %v", text, err, want)
		}
	}
}

// TestFaultsOfJSON: what may not be is said with its line.
func TestFaultsOfJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Fault{
		"{\"n\":1,\n\"n\":2}":        {2, "n is in line 1 already"},
		`{"N":1}`:                    {1, `"N" is not a setting of a thing; did you mean "n"?`},
		`{"n":1.0}`:                  {1, "n must be a whole number"},
		`{"n":1e3}`:                  {1, "n must be a whole number"},
		`{"n":99999999999999999999}`: {1, "n must be a whole number"},
		`{"n":"1"}`:                  {1, "n must be a whole number"},
		"{\n\n\"n\":null}":           {3, "n must not be null: leave it out"},
	} {
		n, err := Object([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var r Reader
		var got struct {
			N int64 `yaml:"n"`
		}
		if r.Struct(n, "a thing", &got); len(r.Faults) != 1 || r.Faults[0] != want {
			t.Errorf("%s: %v, want %v", text, r.Faults, want)
		}
	}
}

// TestStringsOfJSON: a string is what encoding/json says it is, however it is written.
func TestStringsOfJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "text")
		text, err := json.Marshal(map[string]string{"a": want})
		if err != nil {
			t.Fatal(err)
		}
		var r Reader
		var got struct {
			A string `yaml:"a"`
		}
		n, err := Object(text)
		if err != nil {
			t.Fatal(err)
		}
		if r.Struct(n, "a thing", &got); got.A != want || len(r.Faults) > 0 {
			t.Fatalf("%s: %q, %v", text, got.A, r.Faults)
		}
	})
}
