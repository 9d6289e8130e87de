package answer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

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
		"plain":                   {`{"zoneId":"Z","token":"T"}`, request{"Z", "T"}},
		"other order":             {`{"token":"T","zoneId":"Z"}`, request{"Z", "T"}},
		"white space":             {" \t\r\n{ \"zoneId\" :\n\"Z\" ,\t\"token\"\r: \"T\" } \n", request{"Z", "T"}},
		"empty object":            {`{}`, request{}},
		"empty object with space": {`{ }`, request{}},
		"empty strings":           {`{"zoneId":"","token":""}`, request{}},
		"last one counts":         {`{"zoneId":"A","zoneId":"B"}`, request{ZoneID: "B"}},
		"null is absent":          {`{"zoneId":null}`, request{}},
		"null leaves the value":   {`{"zoneId":"A","zoneId":null}`, request{ZoneID: "A"}},
		"names are exact":         {`{"ZoneID":"A","TOKEN":7}`, request{}},
		"escaped name":            {`{"\u007aoneId":"Z"}`, request{ZoneID: "Z"}},
		"escapes":                 {`{"token":"\"\\\/\b\f\n\r\t"}`, request{Token: "\"\\/\b\f\n\r\t"}},
		"unicode escapes":         {`{"token":"\u0041\u00e9\u20AC\u0000"}`, request{Token: "Aé€\x00"}},
		"surrogate pair":          {`{"token":"<\ud83d\uDE00>"}`, request{Token: "<😀>"}},
		"utf-8":                   {`{"token":"é€😀"}`, request{Token: "é€😀"}},
		"delete is no control":    {"{\"token\":\"\x7f\"}", request{Token: "\x7f"}},
		"unknown members": {
			`{"a":1,"b":-0.5e+10,"c":1E-7,"d":true,"e":false,"f":null,"g":"x\n","h":[],"i":{},` +
				`"j":[1,[2,{"k":[{}]}]],"zoneId":"Z","l":{"zoneId":"inner","m":{}}}`, request{ZoneID: "Z"},
		},
		"as deep as allowed": {`{"a":` + nested(31) + `,"zoneId":"Z"}`, request{ZoneID: "Z"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := decode(tt.body)
			if err != nil || got != tt.want {
				t.Errorf("got %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ body, field string }{
		"nothing":                    {``, "body"},
		"white space":                {` `, "body"},
		"text":                       {`zoneId=Z`, "body"},
		"null":                       {`null`, "body"},
		"array":                      {`[]`, "body"},
		"string":                     {`"Z"`, "body"},
		"byte order mark":            {"\ufeff{}", "body"},
		"open":                       {`{`, "body"},
		"open after name":            {`{"zoneId"`, "body"},
		"open after colon":           {`{"zoneId":`, "body"},
		"open after value":           {`{"zoneId":"Z"`, "body"},
		"open string":                {`{"zoneId":"Z`, "body"},
		"open escape":                {`{"zoneId":"\`, "body"},
		"open unicode escape":        {`{"zoneId":"\u00`, "body"},
		"comma before the end":       {`{"zoneId":"Z",}`, "body"},
		"leading comma":              {`{,"zoneId":"Z"}`, "body"},
		"no comma":                   {`{"zoneId":"Z" "token":"T"}`, "body"},
		"no colon":                   {`{"zoneId" "Z"}`, "body"},
		"no value":                   {`{"zoneId":}`, "body"},
		"name without quotes":        {`{zoneId:"Z"}`, "body"},
		"single quotes":              {`{'zoneId':'Z'}`, "body"},
		"a number as a name":         {`{1:"Z"}`, "body"},
		"comment":                    {`{/**/"zoneId":"Z"}`, "body"},
		"something after":            {`{"zoneId":"Z"}x`, "body"},
		"two objects":                {`{"zoneId":"Z"}{}`, "body"},
		"control character":          {"{\"zoneId\":\"a\nb\"}", "body"},
		"NUL byte":                   {"{\"zoneId\":\"a\x00b\"}", "body"},
		"unknown escape":             {`{"zoneId":"\x41"}`, "body"},
		"not hexadecimal":            {`{"zoneId":"\u00g0"}`, "body"},
		"not UTF-8":                  {"{\"zoneId\":\"\xff\"}", "body"},
		"not UTF-8 in a name":        {"{\"\xc3\":\"Z\"}", "body"},
		"surrogate in UTF-8":         {"{\"zoneId\":\"\xed\xa0\x80\"}", "body"},
		"high surrogate alone":       {`{"zoneId":"\ud83d"}`, "body"},
		"high surrogate, then text":  {`{"zoneId":"\ud83dxxxxxx"}`, "body"},
		"high surrogate twice":       {`{"zoneId":"\ud83d\ud83d"}`, "body"},
		"high surrogate, cut escape": {`{"zoneId":"\ud83d\ude"}`, "body"},
		"low surrogate alone":        {`{"zoneId":"\ude00"}`, "body"},
		"lone surrogate, unknown":    {`{"a":"\ude00"}`, "body"},
		"not null":                   {`{"zoneId":nul}`, "body"},
		"not true":                   {`{"a":tru}`, "body"},
		"not false":                  {`{"a":falsy}`, "body"},
		"leading zero":               {`{"a":01}`, "body"},
		"plus sign":                  {`{"a":+1}`, "body"},
		"minus alone":                {`{"a":-}`, "body"},
		"nothing after the point":    {`{"a":1.}`, "body"},
		"nothing before the point":   {`{"a":.1}`, "body"},
		"nothing after the exponent": {`{"a":1e+}`, "body"},
		"NaN":                        {`{"a":NaN}`, "body"},
		"hexadecimal":                {`{"a":0x1}`, "body"},
		"array with a colon":         {`{"a":[1:2]}`, "body"},
		"array with a comma":         {`{"a":[1,]}`, "body"},
		"array without a comma":      {`{"a":[1 2]}`, "body"},
		"wrong bracket":              {`{"a":[1}}`, "body"},
		"object in it without name":  {`{"a":{1}}`, "body"},
		"too deep":                   {`{"a":` + nested(32) + `}`, "body"},
		"far too deep":               {`{"a":` + strings.Repeat("[", 4000), "body"},
		"zoneId a number":            {`{"zoneId":1,"token":"T"}`, "zoneId"},
		"zoneId an object":           {`{"zoneId":{"a":"b"}}`, "zoneId"},
		"zoneId true":                {`{"zoneId":true}`, "zoneId"},
		"token an array":             {`{"zoneId":"Z","token":["T"]}`, "token"},
		"token not even a number":    {`{"token":-}`, "body"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := decode(tt.body)
			var field *serve.FieldError
			if !errors.Is(err, serve.ErrInvalid) || !errors.As(err, &field) {
				t.Fatalf("got %v, want a FieldError", err)
			}
			if field.Field != tt.field {
				t.Errorf("blames %q (%v), want %q", field.Field, err, tt.field)
			}
		})
	}
}

// nested returns arrays, one in the other.
func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

// FuzzDecode compares Decode with encoding/json: the same bodies accepted and
// the same values, but for the differences that Decode's comment lists, each
// of which is established here in another way than Decode does it.
func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		`{"zoneId":"TEST_ZONE","token":"AYkAAQ"}`, ` {"token" : null , "zoneId":"\u0041"} `,
		`{"zoneId":"\ud83d\ude00"}`, `{"zoneId":"\ud83d"}`, "{\"token\":\"\xff\"}", `null`, `[]`,
		`{"a":[{"b":[1.5e-3,true,false,null,"\\"]}],"token":"x","token":"y"}`, `{"zoneId":1}`,
		`{"a":` + nested(31) + `}`, `{"a":` + nested(32) + `}`, `{"ZONEID":"x"}`, `{"zoneId":"a"}}`, `{"a":1E700}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		got, err := decode(string(body))
		want, accepted := reference(t, body)
		if accepted != (err == nil) {
			t.Fatalf("%q: got %v, encoding/json accepts: %v", body, err, accepted)
		}
		if err == nil && got != want {
			t.Fatalf("%q: got %+v, encoding/json %+v", body, got, want)
		}
		if err != nil && !errors.Is(err, serve.ErrInvalid) {
			t.Fatalf("%q: %v does not wrap ErrInvalid", body, err)
		}
		if !bytes.Equal(body, before) {
			t.Fatalf("%q: was changed to %q", before, body)
		}
	})
}

// reference decodes with encoding/json, and refuses on top of it what Decode
// refuses on purpose.
func reference(t *testing.T, body []byte) (r request, accepted bool) {
	t.Helper()
	if !json.Valid(body) || !utf8.Valid(body) || loneSurrogate(body) {
		return request{}, false
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber() // of any size
	depth := 0
	for first := true; depth > 0 || first; first = false {
		tok, err := dec.Token()
		if err != nil {
			t.Fatalf("%q is valid, but: %v", body, err)
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		default:
		}
		if depth > 32 || (first && tok != json.Delim('{')) {
			return request{}, false
		}
	}
	dec = json.NewDecoder(bytes.NewReader(body))
	_, err := dec.Token()
	for err == nil && dec.More() {
		var name json.Token
		var value json.RawMessage
		if name, err = dec.Token(); err != nil {
			break
		}
		if err = dec.Decode(&value); err != nil {
			break
		}
		// An exact name, where a struct would do without regard to case.
		switch name {
		case "zoneId":
			err = json.Unmarshal(value, &r.ZoneID)
		case "token":
			err = json.Unmarshal(value, &r.Token)
		}
	}
	return r, err == nil
}

// loneSurrogate reports whether valid JSON escapes half of a surrogate pair.
func loneSurrogate(body []byte) bool {
	var units []uint16
	for i := 0; i < len(body); i++ {
		unit := uint16('x')
		if body[i] == '\\' {
			i++
			if body[i] == 'u' {
				var err error
				if unit, err = parseUnit(body[i+1 : i+5]); err != nil {
					return true
				}
				i += 4
			}
		}
		units = append(units, unit)
	}
	for i := 0; i < len(units); i++ {
		if !utf16.IsSurrogate(rune(units[i])) {
			continue
		}
		if i+1 == len(units) || utf16.DecodeRune(rune(units[i]), rune(units[i+1])) == utf8.RuneError {
			return true
		}
		i++
	}
	return false
}

func parseUnit(digits []byte) (uint16, error) {
	var n uint16
	for _, d := range digits {
		i := strings.IndexByte("0123456789abcdef", d|0x20)
		if i < 0 {
			return 0, errors.New("not hexadecimal")
		}
		n = n<<4 | uint16(i)
	}
	return n, nil
}

func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"zoneId":"TEST_ZONE","token":"AQdmMGE4YjNjMTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1ubw"}`)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var r request
			if err := answer.Decode(body,
				answer.Field{Name: "zoneId", Value: &r.ZoneID},
				answer.Field{Name: "token", Value: &r.Token}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var r struct {
				ZoneID string `json:"zoneId"`
				Token  string `json:"token"`
			}
			if err := json.Unmarshal(body, &r); err != nil {
				b.Fatal(err)
			}
		}
	})
}
