package answer

import (
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a body, its outermost object included, and
// with it the recursion of skip. No client of this contract nests at all.
const maxDepth = 32

// scanner walks over one JSON text. Its methods return false where the text
// is not JSON; the place where it stopped is then of no use.
type scanner struct {
	text []byte
	at   int
}

// peek returns the next byte, or 0 at the end: no JSON value begins with it.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// take steps over the byte c if it is next.
func (s *scanner) take(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// space steps over white space.
func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\n', '\t', '\r':
			s.at++
		default:
			return
		}
	}
}

// colon steps over a colon and the white space around it.
func (s *scanner) colon() bool {
	s.space()
	if !s.take(':') {
		return false
	}
	s.space()
	return true
}

// word steps over one of null, true and false.
func (s *scanner) word(w string) bool {
	if len(s.text)-s.at < len(w) || string(s.text[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

// str steps over a string and returns what stands between its quotes, valid
// UTF-8 with valid escapes, and whether there are escapes in it.
func (s *scanner) str() (raw []byte, escaped, ok bool) {
	if !s.take('"') {
		return nil, false, false
	}
	start, ascii := s.at, true
	for {
		s.plain()
		switch c := s.peek(); {
		case c == '"':
			raw = s.text[start:s.at]
			s.at++
			return raw, escaped, ascii || utf8.Valid(raw)
		case c == '\\':
			escaped = true
			if !s.escape() {
				return nil, false, false
			}
		case c >= utf8.RuneSelf:
			ascii = false
			s.at++
		default: // a control character, or the end
			return nil, false, false
		}
	}
}

// plain steps over those characters of a string that mean themselves and need
// no second look: nearly all there are.
func (s *scanner) plain() {
	i := s.at
	for i < len(s.text) && ' ' <= s.text[i] && s.text[i] < utf8.RuneSelf && s.text[i] != '"' && s.text[i] != '\\' {
		i++
	}
	s.at = i
}

// escape steps over one escape, or over the two that make a surrogate pair.
func (s *scanner) escape() bool {
	s.at++ // the backslash
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at++
		return true
	case 'u':
	default:
		return false
	}
	r, ok := hex4(s.text[s.at+1:])
	if !ok {
		return false
	}
	s.at += len("uXXXX")
	if !utf16.IsSurrogate(r) {
		return true
	}
	if !s.word(`\u`) {
		return false
	}
	low, ok := hex4(s.text[s.at:])
	if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
		return false
	}
	s.at += len("XXXX")
	return true
}

// hex4 reads four hexadecimal digits.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape returns a copy of raw, which str has checked, without its escapes.
func unescape(raw []byte) []byte {
	out := make([]byte, 0, len(raw)) // every escape is longer than what it stands for
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		i++
		switch c := raw[i]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, _ := hex4(raw[i+1:])
			i += len("XXXX")
			if utf16.IsSurrogate(r) {
				low, _ := hex4(raw[i+len(`\u`)+1:])
				r = utf16.DecodeRune(r, low)
				i += len(`\uXXXX`)
			}
			out = utf8.AppendRune(out, r)
		default: // a quote, a slash, a backslash
			out = append(out, c)
		}
	}
	return out
}

// skip checks and steps over one value that stands within depth others.
func (s *scanner) skip(depth int) bool {
	switch c := s.peek(); c {
	case '"':
		_, _, ok := s.str()
		return ok
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	case '{', '[':
		return s.nest(c == '{', depth+1)
	default:
		return s.number()
	}
}

// nest checks and steps over an object or an array.
func (s *scanner) nest(object bool, depth int) bool {
	end := byte(']')
	if object {
		end = '}'
	}
	if depth > maxDepth {
		return false
	}
	s.at++ // the bracket
	s.space()
	if s.take(end) {
		return true
	}
	for {
		if object {
			if _, _, ok := s.str(); !ok || !s.colon() {
				return false
			}
		}
		if !s.skip(depth) {
			return false
		}
		s.space()
		if s.take(end) {
			return true
		}
		if !s.take(',') {
			return false
		}
		s.space()
	}
}

// number steps over a number: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func (s *scanner) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		return s.digits()
	}
	return true
}

// digits steps over one digit or more.
func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.text) && '0' <= s.text[s.at] && s.text[s.at] <= '9' {
		s.at++
	}
	return s.at > start
}
