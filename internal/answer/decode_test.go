package answer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/serve"
)

// request has the two fields that every test here decodes.
type request struct{ ZoneID, Token string }

func decode(body string) (request, error) {
	var r request
	err := answer.Decode([]byte(body),
		answer.Field{Name: "zoneId", Value: &r.ZoneID},
		answer.Field{Name: "token", Value: &r.Token})
	return r, err
}

func TestDecode(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body string
		want request
	}{
		"plain":           {`{"zoneId":"Z","token":"T"}`, request{"Z", "T"}},
		"other order":     {`{"token":"T","zoneId":"Z"}`, request{"Z", "T"}},
		"white space":     {" \t\r\n{ \"zoneId\" :\n\"Z\" ,\t\"token\"\r: \"T\" } \n", request{"Z", "T"}},
		"empty object":    {`{}`, request{}},
		"empty strings":   {`{"zoneId":"","token":""}`, request{}},
		"null is absent":  {`{"zoneId":null}`, request{}},
		"names are exact": {`{"ZoneID":"A","TOKEN":7}`, request{}},
		"escaped name":    {`{"\u007aoneId":"Z"}`, request{ZoneID: "Z"}},
		"escapes":         {`{"token":"\"\\\/\b\f\n\r\t"}`, request{Token: "\"\\/\b\f\n\r\t"}},
		"unicode escapes": {`{"token":"\u0041\u00e9\u20AC\u0000"}`, request{Token: "Aé€\x00"}},
		"surrogate pair":  {`{"token":"<\ud83d\uDE00>"}`, request{Token: "<😀>"}},
		"utf-8":           {`{"token":"é€😀"}`, request{Token: "é€😀"}},
		"unknown members": {
			`{"a":1,"b":-0.5e+10,"c":1E-7,"d":true,"e":false,"f":null,"g":"x\n","h":[],"i":{},` +
				`"j":[1,[2,{"k":[{}]}]],"zoneId":"Z","l":{"zoneId":"inner","m":{}}}`, request{ZoneID: "Z"},
		},
		"as deep as allowed": {`{"a":` + nested(31) + `,"zoneId":"Z"}`, request{ZoneID: "Z"}},
	}
	for name, tt := range tests {
		if got, err := decode(tt.body); err != nil || got != tt.want {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, tt.want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ body, field string }{
		"nothing":                  {``, "body"},
		"null":                     {`null`, "body"},
		"array":                    {`[]`, "body"},
		"byte order mark":          {"\ufeff{}", "body"},
		"open":                     {`{`, "body"},
		"open string":              {`{"zoneId":"Z`, "body"},
		"comma before the end":     {`{"zoneId":"Z",}`, "body"},
		"no colon":                 {`{"zoneId" "Z"}`, "body"},
		"something after":          {`{"zoneId":"Z"}x`, "body"},
		"two objects":              {`{"zoneId":"Z"}{}`, "body"},
		"control character":        {"{\"zoneId\":\"a\nb\"}", "body"},
		"not UTF-8":                {"{\"zoneId\":\"\xff\"}", "body"},
		"not UTF-8 in a name":      {"{\"\xc3\":\"Z\"}", "body"},
		"surrogate in UTF-8":       {"{\"zoneId\":\"\xed\xa0\x80\"}", "body"},
		"a member twice":           {`{"token":"A","token":"B"}`, "body"},
		"twice, written otherwise": {`{"token":"A","t\u006fken":"B"}`, "body"},
		"an unknown one twice":     {`{"token":"A","x":{"y":1,"y":1}}`, "body"},
		"high surrogate alone":     {`{"zoneId":"\ud83d"}`, "body"},
		"low surrogate alone":      {`{"zoneId":"\ude00"}`, "body"},
		"lone surrogate, unknown":  {`{"a":"\ude00"}`, "body"},
		"leading zero":             {`{"a":01}`, "body"},
		"wrong bracket":            {`{"a":[1}}`, "body"},
		"too deep":                 {`{"a":` + nested(32) + `}`, "body"},
		"far too deep":             {`{"a":` + strings.Repeat("[", 4000), "body"},
		"zoneId a number":          {`{"zoneId":1,"token":"T"}`, "zoneId"},
		"zoneId an object":         {`{"zoneId":{"a":"b"}}`, "zoneId"},
		"token an array":           {`{"zoneId":"Z","token":["T"]}`, "token"},
		"token not even a number":  {`{"token":-}`, "body"},
	}
	for name, tt := range tests {
		_, err := decode(tt.body)
		if field, ok := errors.AsType[*serve.FieldError](err); !ok || !errors.Is(err, serve.ErrInvalid) || field.Field != tt.field {
			t.Errorf("%s: %v, want a FieldError of %s", name, err, tt.field)
		}
	}
}

// nested returns arrays, one in the other.
func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}
