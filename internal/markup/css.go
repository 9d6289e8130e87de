package markup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"

	"github.com/openqueue/waitingroom/internal/zone"
)

// Property is a custom property of the waiting page that a stylesheet may set on :root.
type Property struct {
	Name, Means string
	// Light and Dark are the page's own colours; "" for what is no colour.
	Light, Dark string
}

// Properties are all of them. page.css has the same values.
var Properties = []Property{
	{"--accent", "the bar, buttons, progress", "#1d4ed8", "#8fb4ff"},
	{"--on-accent", "text on the accent; left out, it is black or white", "#ffffff", "#0b1020"},
	{"--ground", "behind the card, and behind messages", "#f6f7f9", "#0f1218"},
	{"--card", "the card", "#ffffff", "#181c25"},
	{"--ink", "text", "#16191f", "#eef0f4"},
	{"--quiet", "labels and hints", "#555e6e", "#aab2c0"},
	{"--line", "edges", "#d4d8df", "#343b48"},
	{"--radius", "corners of the card, such as 12px; at most 2rem", "", ""},
	{"--font", "names of fonts that visitors have, such as Georgia, serif", "", ""},
	{"--background", "an image or a gradient behind the card", "", ""},
}

// pairs are text and what it stands on.
var pairs = [][2]string{{"--ink", "--card"}, {"--ink", "--ground"}, {"--quiet", "--card"}, {"--on-accent", "--accent"}}

// leastContrast is what WCAG 2.2 asks for text (1.4.3).
const leastContrast = 4.5

const dark = "(prefers-color-scheme: dark)"

// rule is one rule of a stylesheet. Its declarations are written as they are shown.
type rule struct {
	media        string
	selectors    []string
	declarations []string
}

// sheet reads a stylesheet.
type sheet struct {
	sources []string
	shown   bool
	rules   []rule
	root    map[string]map[string]string // by media, by property
	removed []string
}

func (s *sheet) remove(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.removed, text) {
		s.removed = append(s.removed, text)
	}
}

// cleanCSS returns a stylesheet without what it may not have, and what that was. shown has each selector stand behind that of the slots,
// and classes have their prefix, as in the page.
func cleanCSS(text string, sources []string, shown bool) (clean string, removed []string) {
	s := &sheet{sources: sources, shown: shown, root: map[string]map[string]string{}}
	s.read(text)
	s.contrast()
	var b strings.Builder
	for _, media := range []string{"", dark} {
		if len(s.root[media]) > 0 {
			s.write(&b, rule{media: media, selectors: []string{":root"}, declarations: s.properties(s.root[media])})
		}
	}
	for _, r := range s.rules {
		s.write(&b, r)
	}
	return strings.TrimSpace(b.String()), s.removed
}

func (s *sheet) properties(set map[string]string) (all []string) {
	for _, p := range Properties {
		if value := set[p.Name]; value != "" {
			all = append(all, p.Name+": "+value)
		}
	}
	return all
}

func (s *sheet) write(b *strings.Builder, r rule) {
	if len(r.declarations) == 0 {
		return
	}
	text := strings.Join(r.selectors, ", ") + " { " + strings.Join(r.declarations, "; ") + " }"
	if r.media != "" {
		text = "@media " + r.media + " { " + text + " }"
	}
	b.WriteString(text + " ")
}

// read goes through the grammar. What is in a rule that may not be, or in a rule in a rule, is passed over.
func (s *sheet) read(text string) {
	p := css.NewParser(parse.NewInputString(text), false)
	var (
		media     string
		selectors []string
		current   *rule
		isRoot    bool
		skip      int // how many blocks deep in what is passed over
	)
	for {
		kind, _, data := p.Next()
		switch kind {
		case css.ErrorGrammar:
			if errors.Is(p.Err(), io.EOF) || !p.HasParseError() {
				return
			}
			s.remove("what is no CSS")
		case css.AtRuleGrammar:
			s.remove("%.40s", data)
		case css.BeginAtRuleGrammar:
			query, ok := mediaQuery(p.Values())
			if skip > 0 || media != "" || string(data) != "@media" || !ok {
				s.remove("%.40s", data)
				skip++
				continue
			}
			media = query
		case css.EndAtRuleGrammar:
			if skip > 0 {
				skip--
			} else {
				media = ""
			}
		case css.QualifiedRuleGrammar, css.BeginRulesetGrammar:
			if skip > 0 || current != nil {
				if kind == css.BeginRulesetGrammar {
					s.remove("a rule in a rule")
					skip++
				}
				continue
			}
			for _, one := range listed(p.Values()) {
				if written := write(one); written == ":root" && (media == "" || media == dark) {
					isRoot = true
				} else if selector, ok := s.selector(one); ok {
					selectors = append(selectors, selector)
				} else {
					s.remove("the selector %.60s", written)
				}
			}
			if kind == css.BeginRulesetGrammar {
				current, selectors = &rule{media: media, selectors: selectors}, nil
			}
		case css.EndRulesetGrammar:
			if skip > 0 {
				skip--
				continue
			}
			if current != nil && len(current.selectors) > 0 {
				s.rules = append(s.rules, *current)
			}
			current, isRoot = nil, false
		case css.DeclarationGrammar, css.CustomPropertyGrammar:
			if skip > 0 || current == nil {
				continue
			}
			s.declare(current, isRoot, strings.ToLower(string(data)), p.Values())
		case css.CommentGrammar, css.TokenGrammar:
		}
	}
}

// declare takes a declaration over, if it may be.
func (s *sheet) declare(current *rule, isRoot bool, name string, values []css.Token) {
	if strings.HasPrefix(name, "--") {
		value := strings.TrimSpace(write(values))
		switch {
		case !isRoot:
			s.remove("%.40s outside of :root", name)
		case s.sets(name, value):
			if s.root[current.media] == nil {
				s.root[current.media] = map[string]string{}
			}
			s.root[current.media][name] = strings.ToLower(value)
			if name == "--font" || name == "--background" {
				s.root[current.media][name] = value
			}
		default:
			s.remove("%.40s: %.40s", name, value)
		}
		return
	}
	value, ok := s.value(values)
	if len(current.selectors) == 0 {
		if isRoot {
			s.remove("%.40s of :root", name)
		}
		return
	}
	if !ok || !property.MatchString(name) || slices.Contains(forbidden, name) || name == "position" && value != "static" && value != "relative" {
		s.remove("%.40s: %.40s", name, write(values))
		return
	}
	current.declarations = append(current.declarations, name+": "+value)
}

var (
	property = regexp.MustCompile(`^-?[a-z]+(-[a-z0-9]+)*$`)
	hex      = regexp.MustCompile(`^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$`)
	length   = regexp.MustCompile(`^(\d{1,2}|\d?\.\d{1,3})(px|rem|em)?$`)
	family   = regexp.MustCompile(`^["'\pL\pN ,-]{1,200}$`)
	plain    = regexp.MustCompile(`^[a-z-]+$`)
)

// forbidden are properties with which old browsers run something, or that have names of the whole page.
var forbidden = []string{"behavior", "-moz-binding", "view-transition-name", "anchor-name", "position-anchor"}

// functions may stand in a value.
var functions = []string{
	"rgb(", "rgba(", "hsl(", "hsla(", "calc(", "min(", "max(", "clamp(", "var(", "linear-gradient(", "radial-gradient(", "conic-gradient(",
	"repeat(", "minmax(", "translate(", "rotate(", "scale(", "blur(", "brightness(",
}

// sets reports whether a custom property may have that value.
func (s *sheet) sets(name, value string) bool {
	switch i := slices.IndexFunc(Properties, func(p Property) bool { return p.Name == name }); {
	case i < 0:
		return false
	case Properties[i].Light != "":
		return hex.MatchString(value)
	case name == "--radius":
		return length.MatchString(value)
	case name == "--font" && !family.MatchString(value):
		return false
	}
	l := css.NewLexer(parse.NewInputString(value))
	var values []css.Token
	for {
		kind, data := l.Next()
		if kind == css.ErrorToken {
			break
		}
		values = append(values, css.Token{TokenType: kind, Data: slices.Clone(data)})
	}
	_, ok := s.value(values)
	return ok && (name == "--font" || strings.HasPrefix(value, "url(") || strings.Contains(value, "-gradient("))
}

// value writes a value of whose tokens each may be. An address is that of an image.
func (s *sheet) value(values []css.Token) (string, bool) {
	depth := 0
	for _, t := range values {
		switch t.TokenType {
		case css.IdentToken, css.NumberToken, css.PercentageToken, css.DimensionToken, css.HashToken, css.CommaToken, css.WhitespaceToken:
		case css.DelimToken:
			if !oneOf(t.Data, "+-*/!") {
				return "", false
			}
		case css.StringToken:
			if !closed(string(t.Data)) {
				return "", false
			}
		case css.FunctionToken:
			if depth++; !slices.Contains(functions, strings.ToLower(string(t.Data))) {
				return "", false
			}
		case css.LeftParenthesisToken:
			depth++
		case css.RightParenthesisToken:
			if depth--; depth < 0 {
				return "", false
			}
		case css.URLToken:
			address, ends := strings.CutSuffix(string(t.Data[len("url("):]), ")")
			address = strings.TrimSpace(address)
			if quoted := strings.Trim(address, `"'`); !ends || quoted != address && !closed(address) || !imageFrom(quoted, s.sources) {
				return "", false
			}
		default:
			return "", false
		}
		if bytes.ContainsAny(t.Data, "\\<>{}\n\r\f") || t.TokenType != css.URLToken && bytes.ContainsAny(t.Data, ";@") {
			return "", false
		}
	}
	written := strings.TrimSpace(write(values))
	return written, depth == 0 && !strings.Contains(written, "/*") // the parser leaves out spaces behind /
}

// oneOf reports whether a delimiter, which is one character, is among some.
func oneOf(delimiter []byte, some string) bool { return bytes.ContainsAny(delimiter, some) }

// closed reports whether a string ends as it begins. One that the end of the text ends would go on in what is shown behind it.
func closed(text string) bool { return len(text) > 1 && text[0] == text[len(text)-1] }

// pseudos may stand behind a colon in a selector.
var pseudos = []string{
	"hover", "focus", "focus-visible", "active", "first-child", "last-child", "only-child", "first-of-type", "last-of-type", "empty",
	"nth-child(", "nth-of-type(", "not(", "is(", "where(", "before", "after", "marker", "first-line", "first-letter", "lang(", "dir(",
}

// listed are the selectors of a list. A comma within brackets ends none.
func listed(values []css.Token) (all [][]css.Token) {
	depth, from := 0, 0
	for i, t := range values {
		switch t.TokenType {
		case css.FunctionToken, css.LeftParenthesisToken, css.LeftBracketToken:
			depth++
		case css.RightParenthesisToken, css.RightBracketToken:
			depth--
		case css.CommaToken:
			if depth == 0 {
				all = append(all, values[from:i])
				from = i + 1
			}
		default:
		}
	}
	return append(all, values[from:])
}

// selector writes a selector of what is in the slots. It cannot begin with a combinator, which would lead out of them.
func (s *sheet) selector(values []css.Token) (string, bool) {
	var b strings.Builder
	depth := 0
	for i, t := range values {
		text := string(t.Data)
		switch t.TokenType {
		case css.IdentToken:
			class, pseudo := i > 0 && string(values[i-1].Data) == ".", i > 0 && string(values[i-1].Data) == ":"
			if pseudo && !slices.Contains(pseudos, strings.ToLower(text)) {
				return "", false
			}
			if class && s.shown {
				text = Prefix + text
			}
		case css.FunctionToken:
			if depth++; i == 0 || string(values[i-1].Data) != ":" || !slices.Contains(pseudos, strings.ToLower(text)) {
				return "", false
			}
		case css.DelimToken:
			if !oneOf(t.Data, ".*>+~") || i == 0 && text != "." && text != "*" {
				return "", false
			}
		case css.RightParenthesisToken:
			depth--
		case css.CommaToken:
			if depth == 0 {
				return "", false
			}
		case css.ColonToken, css.WhitespaceToken, css.NumberToken, css.DimensionToken:
		default:
			return "", false
		}
		if depth < 0 || strings.ContainsAny(text, "\\<{};@\"'\n") {
			return "", false
		}
		b.WriteString(text)
	}
	written := strings.TrimSpace(b.String())
	if depth != 0 || written == "" || strings.ContainsAny(written[:1], ">+~") {
		return "", false
	}
	if s.shown {
		written = ".slot " + written
	}
	return written, true
}

// mediaQuery writes the query of a @media rule.
func mediaQuery(values []css.Token) (string, bool) {
	depth := 0
	for _, t := range values {
		switch t.TokenType {
		case css.IdentToken, css.FunctionToken:
			if !plain.MatchString(strings.TrimSuffix(strings.ToLower(string(t.Data)), "(")) {
				return "", false
			}
			if t.TokenType == css.FunctionToken {
				depth++
			}
		case css.LeftParenthesisToken:
			depth++
		case css.RightParenthesisToken:
			depth--
		case css.WhitespaceToken, css.ColonToken, css.CommaToken, css.NumberToken, css.DimensionToken:
		case css.DelimToken:
			if !oneOf(t.Data, "<>=") {
				return "", false
			}
		default:
			return "", false
		}
	}
	query := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(write(values))), ":", ": ")
	query = strings.ReplaceAll(query, ":  ", ": ")
	return query, depth == 0 && query != "" && !strings.Contains(query, "<")
}

func write(values []css.Token) string {
	var b strings.Builder
	for _, t := range values {
		b.Write(t.Data)
	}
	return b.String()
}

// contrast removes colours with which text could not be read, in light or in dark. Text on the accent is chosen where the sheet has none.
func (s *sheet) contrast() {
	for _, scheme := range []string{"", dark} {
		colours := map[string]string{}
		for _, p := range Properties {
			if p.Light == "" {
				continue
			}
			colours[p.Name] = p.Light
			if scheme == dark {
				colours[p.Name] = p.Dark
			}
			for _, media := range []string{"", scheme} {
				if set := s.root[media][p.Name]; set != "" {
					colours[p.Name] = long(set)
				}
			}
		}
		if s.root[scheme]["--accent"] != "" && s.root[scheme]["--on-accent"] == "" {
			colours["--on-accent"] = zone.TextOn(colours["--accent"])
			s.root[scheme]["--on-accent"] = colours["--on-accent"]
		}
		for _, pair := range pairs {
			if c := zone.Contrast(colours[pair[0]], colours[pair[1]]); c < leastContrast {
				where := "in light mode"
				if scheme == dark {
					where = "in dark mode"
				}
				s.remove("all colours: %s %s on %s %s has a contrast of %.1f %s, and 4.5 is needed", pair[0], colours[pair[0]], pair[1], colours[pair[1]], c, where)
				for _, p := range Properties {
					if p.Light != "" {
						delete(s.root[""], p.Name)
						delete(s.root[dark], p.Name)
					}
				}
				return
			}
		}
	}
}

// long writes #abc as #aabbcc.
func long(colour string) string {
	if len(colour) != len("#abc") {
		return colour
	}
	return string([]byte{'#', colour[1], colour[1], colour[2], colour[2], colour[3], colour[3]})
}
