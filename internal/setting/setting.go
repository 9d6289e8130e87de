package setting

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	strict "github.com/go-json-experiment/json"
)

// Setting is one setting of a T.
type Setting[T any] struct {
	// Name is the setting's in JSON, YAML, forms and on the command line.
	Name string
	// At returns where it is kept: an *int64, *bool, *string, *[]string, *Texts, or an Own.
	At func(*T) any
	// Default is what it is in a new T, of the type that At points to.
	Default any
	// Of names the kind of a value that is none of these, for whoever sent another: "a
	// list of events". At then points to whatever encoding/json reads and writes; it has
	// Say, and is typed as JSON.
	Of string
	// Own says that the servers set it, and nobody else.
	Own bool

	// Least and Most bound a number. Most is also how many texts a list may have.
	Least, Most int64
	// MaxLength bounds a text, or each of several, in bytes.
	MaxLength int
	// Choices are all values of a text that has few.
	Choices []Choice
	// Fault says what is wrong with a value within these bounds, in a sentence without its
	// subject; "" for one that may be. It may be nil.
	Fault func(T) string

	// Choose says how an operator chooses the value, as Markdown for the documentation. Where it is "", Hint does.
	Choose string
	// Label and Hint tell a person what it is, in a form.
	Label, Hint string
	// Time says that a text is a time as ParseTime reads it, or empty.
	Time bool
	// Lines has a form take several lines, as it does for Texts anyhow.
	Lines bool
	// Flat has line breaks and tabs become spaces, as in HTML and CSS. Of Texts that are typed, a line without a language
	// goes on with the text before it.
	Flat bool
	// Unit stands behind a number: "s".
	Unit string
	// None says what a 0, an empty text or an empty list means: "no bound". Without,
	// a 0 is a number like others.
	None string
	// Say writes the value for a person, where Words does not do it well enough.
	Say func(T) string
	// Column is its title in a table of many Ts, "" to leave it out.
	Column string
}

// Own is where a value is kept that reads its own text. It says what that must be: "auto
// or a number". The value is a Stringer, and knows itself as JSON.
type Own interface {
	encoding.TextUnmarshaler
	Kind() string
}

// Choice is a value of a setting that has few, how a form calls it, and what it does.
type Choice struct{ Value, Label, Means string }

// Value is what it is in s: an int64, a bool, a string, what an Own holds, or a []string or
// Texts that is the caller's own. No list and no map is nil.
func (x *Setting[T]) Value(s T) any {
	switch at := x.At(&s).(type) {
	case *[]string:
		return append([]string{}, *at...)
	case *Texts:
		all := make(Texts, len(*at))
		maps.Copy(all, *at)
		return all
	}
	at := reflect.ValueOf(x.At(&s)).Elem()
	switch {
	case at.Kind() == reflect.Slice && at.IsNil():
		return reflect.MakeSlice(at.Type(), 0, 0).Interface()
	case at.Kind() == reflect.Map && at.IsNil():
		return reflect.MakeMap(at.Type()).Interface()
	}
	return at.Interface()
}

// set makes it v, which is of the type that Value returns.
func (x *Setting[T]) set(s *T, v any) { reflect.ValueOf(x.At(s)).Elem().Set(reflect.ValueOf(v)) }

// Take sets it in s to what it is in another.
func (x *Setting[T]) Take(s *T, from T) { x.set(s, x.Value(from)) }

// Same reports whether it is the same in both.
func (x *Setting[T]) Same(a, b T) bool {
	return reflect.DeepEqual(x.Value(a), x.Value(b)) || x.Of != "" && reflect.DeepEqual(x.reread(a), x.reread(b))
}

// reread is the value as it is once it was kept: what is empty in it is what is left out.
func (x *Setting[T]) reread(s T) any {
	if err := x.Decode(&s, func(at any) error { return json.Unmarshal([]byte(x.json(s)), at) }); err != nil {
		return err // never: it has been JSON
	}
	return x.Value(s)
}

// Decode sets it in s to what decode writes to where it is told: json.Unmarshal of a
// value, say. With an error, s is as it was.
func (x *Setting[T]) Decode(s *T, decode func(any) error) error {
	at := reflect.ValueOf(x.At(s)).Elem()
	fresh := reflect.New(at.Type())
	err := decode(fresh.Interface())
	if x.Flat && err == nil {
		flatten(fresh.Interface())
	}
	if err == nil {
		at.Set(fresh.Elem())
	}
	return err
}

// Kind names what a value must be, for whoever sent another: "a whole number".
func (x *Setting[T]) Kind() string {
	if x.Of != "" {
		return x.Of
	}
	if own := x.own(); own != nil {
		return own.Kind()
	}
	switch x.Default.(type) {
	case int64:
		return "a whole number"
	case bool:
		return "true or false"
	case []string:
		return "a list of strings"
	case Texts:
		return "a string, or strings by language"
	default:
		return "a string"
	}
}

// own is where one that reads its own text could be kept; nil for other kinds.
func (x *Setting[T]) own() Own {
	own, _ := x.At(new(T)).(Own)
	return own
}

// Text is the value as Parse takes it. That of a list has commas between, or is JSON; of
// Texts, each has a line.
func (x *Setting[T]) Text(s T) string {
	if x.Of != "" {
		return x.json(s)
	}
	list, ok := x.Value(s).([]string)
	if !ok {
		return fmt.Sprint(x.Value(s))
	}
	text := strings.Join(list, ",")
	if slices.Equal(split(text), list) && !strings.HasPrefix(text, "[") {
		return text
	}
	return x.json(s)
}

// json is the value as JSON, which each can be.
func (x *Setting[T]) json(s T) string {
	b, err := json.Marshal(x.Value(s))
	if err != nil {
		return fmt.Sprint(x.Value(s))
	}
	return string(b)
}

// split returns the texts of a list that was typed: a comma or a new line ends each.
func split(text string) []string {
	all := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' })
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// Parse sets it in s to what somebody has typed: 12,340 and 12 340 are numbers, a
// list is texts with commas between, or JSON, and Texts.UnmarshalText knows those. It returns
// an error for what is of another kind. Check knows the bounds.
func (x *Setting[T]) Parse(s *T, text string) error {
	return x.Decode(s, func(at any) (err error) {
		switch at := at.(type) {
		case Own:
			err = at.UnmarshalText([]byte(text))
		case *int64:
			*at, err = Number(text)
		case *bool:
			*at, err = strconv.ParseBool(strings.TrimSpace(text))
		case *string:
			*at = strings.TrimSpace(text)
		case *Texts:
			if x.Flat {
				text = joined(text)
			}
			return at.UnmarshalText([]byte(text))
		case *[]string:
			if !strings.HasPrefix(strings.TrimSpace(text), "[") {
				*at = split(text)
				return nil
			}
			err = strict.Unmarshal([]byte(text), at)
		default:
			err = strict.Unmarshal([]byte(text), at)
		}
		return err
	})
}

// flatten makes lines of a text, or of each of several, one line.
func flatten(at any) {
	one := func(text string) string {
		return strings.TrimSpace(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(text))
	}
	switch at := at.(type) {
	case *string:
		*at = one(*at)
	case *Texts:
		for tag, text := range *at {
			(*at)[tag] = one(text)
		}
	}
}

// joined puts each typed line that begins with no language behind the line before.
func joined(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		tag, _, tagged := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case b.Len() == 0:
		case tagged && isTag(tag):
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(strings.TrimSpace(line))
	}
	return b.String()
}

// Number reads a whole number as a person writes it: 12,340 and 12 340, too.
func Number(text string) (int64, error) {
	return strconv.ParseInt(ungroup.Replace(strings.TrimSpace(text)), 10, 64)
}

// ungroup takes the digits of a number together.
var ungroup = strings.NewReplacer(",", "", " ", "", "\u00a0", "", "\u202f", "")

// Check says what is wrong with the value, in a sentence that begins with the name; ""
// for one that may be.
func (x *Setting[T]) Check(s T) string {
	if fault := x.checkBounds(s); fault != "" || x.Fault == nil {
		return fault
	}
	if fault := x.Fault(s); fault != "" {
		return x.Name + " " + fault
	}
	return ""
}

func (x *Setting[T]) checkBounds(s T) string {
	if x.Of != "" {
		return ""
	}
	switch v := x.Value(s).(type) {
	case int64:
		if v < x.Least || v > x.Most {
			return fmt.Sprintf("%s is %d, must be between %d and %d", x.Name, v, x.Least, x.Most)
		}
	case string:
		if x.Choices != nil {
			if !slices.ContainsFunc(x.Choices, func(c Choice) bool { return c.Value == v }) {
				return fmt.Sprintf("%s %q must be %s", x.Name, v, x.choices())
			}
		} else if err := x.checkText(v); err != nil {
			return x.Name + " " + err.Error()
		}
	case Texts:
		if err := v.check(x.MaxLength); err != nil {
			return x.Name + " " + err.Error()
		}
	case []string:
		if int64(len(v)) > x.Most {
			return fmt.Sprintf("%s has %d texts, must have at most %d", x.Name, len(v), x.Most)
		}
		for i, text := range v {
			err := CheckText(text, x.MaxLength)
			if strings.TrimSpace(text) == "" {
				err = errors.New("must not be empty")
			}
			if err != nil {
				return fmt.Sprintf("%s: text %d %v", x.Name, i+1, err)
			}
		}
	}
	return ""
}

func (x *Setting[T]) checkText(text string) error {
	if !x.Time {
		return CheckText(text, x.MaxLength)
	}
	if text == "" {
		return nil
	}
	_, err := ParseTime(text)
	return err
}

// choices lists them: "queue, open or closed".
func (x *Setting[T]) choices() string {
	all := make([]string, len(x.Choices))
	for i, c := range x.Choices {
		all[i] = c.Value
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// CheckText returns an error, a sentence without its subject, for what is no line of
// text of at most so many bytes: it must be UTF-8, with no control characters and
// nothing that turns or breaks a line, lest it look like another one where it is shown.
func CheckText(text string, most int) error {
	switch {
	case len(text) > most:
		return fmt.Errorf("must not be longer than %d bytes", most)
	case !utf8.ValidString(text):
		return errors.New("must be UTF-8")
	}
	for _, r := range text {
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return errors.New("must not hold control characters")
		}
	}
	return nil
}

// Type sets it in s to what somebody typed into a form. If that may not be, s is as it
// was, and the fault is a sentence for who typed it.
func (x *Setting[T]) Type(s *T, text string) (fault string) {
	was := x.Value(*s)
	switch {
	case x.Parse(s, text) != nil || x.checkBounds(*s) != "":
		fault = x.ask(was)
	case x.Fault != nil:
		fault = x.Fault(*s)
	}
	if fault == "" {
		return ""
	}
	x.set(s, was)
	return x.Label + ": " + fault + "."
}

// ask says what to write in the place of what cannot be read, for a value of the type of v.
func (x *Setting[T]) ask(v any) string {
	switch v.(type) {
	case int64:
		return fmt.Sprintf("write a whole number between %s and %s", Count(x.Least), Count(x.Most))
	case []string:
		return fmt.Sprintf("write at most %d texts of at most %d bytes each, with commas between", x.Most, x.MaxLength)
	case Texts:
		return fmt.Sprintf("write a text of at most %d bytes and, for each other language, a line such as de: Text", x.MaxLength)
	}
	switch own := x.own(); {
	case x.Of != "":
		return "write " + x.Of + ", as JSON"
	case x.Options() != nil:
		return "choose one of the list"
	case own != nil:
		return "write " + own.Kind()
	case x.Time:
		return "write a time such as 2026-12-01T12:00:00+01:00"
	}
	return fmt.Sprintf("write a text of at most %d bytes", x.MaxLength)
}

// Options are the values of a setting that a form has a list for; else nil.
func (x *Setting[T]) Options() []Choice {
	if _, flag := x.Default.(bool); flag {
		return []Choice{{Value: "true", Label: "yes"}, {Value: "false", Label: "no"}}
	}
	return x.Choices
}

// Words is the value for a person.
func (x *Setting[T]) Words(s T) string {
	if x.Say != nil {
		return x.Say(s)
	}
	switch v := x.Value(s).(type) {
	case int64:
		if v == 0 && x.None != "" {
			return x.None
		}
		return strings.TrimSuffix(Count(v)+" "+x.Unit, " ")
	case []string:
		if len(v) > 0 {
			return strings.Join(v, ", ")
		}
	case Texts:
		if others := v.Languages(); len(others) > 0 {
			return v[DefaultText] + " (and in " + strings.Join(others, ", ") + ")"
		} else if len(v) > 0 {
			return v[DefaultText]
		}
	default:
		for _, c := range x.Options() {
			if c.Value == fmt.Sprint(v) {
				return c.Label
			}
		}
		if v != "" {
			return fmt.Sprint(v)
		}
	}
	if x.None == "" {
		return "none"
	}
	return x.None
}

// Meaning says what the value does: its choice, or the hint.
func (x *Setting[T]) Meaning(s T) string {
	for _, c := range x.Choices {
		if c.Value == x.Value(s) && c.Means != "" {
			return c.Means
		}
	}
	return x.Hint
}
