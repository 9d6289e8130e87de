package zone

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/openqueue/waitingroom/internal/setting"
)

const (
	// MaxLinks is how many links the waiting page has: imprint, privacy, help, and as many of the shop's own.
	MaxLinks = 6
	// MaxLinkLength bounds an address, in bytes.
	MaxLinkLength = 500
	// MaxLinkText bounds a link's text in each language, in bytes.
	MaxLinkText = 60
	// MaxSlots bounds the HTML of all slots in all languages together, in bytes.
	MaxSlots = 32 << 10
	// MaxStyle bounds the stylesheet, in bytes.
	MaxStyle = 32 << 10
)

// Severity says how loud the message is.
type Severity string

// The two severities.
const (
	SeverityInfo    Severity = "info"
	SeverityWarning Severity = "warning"
)

// Link is a link of the waiting page: https, or a path as in the page's own `to`.
type Link struct {
	URL  string `json:"url" yaml:"url"`
	Text Texts  `json:"text" yaml:"text"`
}

// Links are those of the waiting page.
type Links []Link

// Kind names what a value must be.
func (Links) Kind() string {
	return "a list of links, or a line each such as /imprint Imprint | de: Impressum"
}

// String is the links as UnmarshalText takes them.
func (l Links) String() string {
	lines := make([]string, len(l))
	for i, one := range l {
		lines[i] = one.URL + " " + one.Text[DefaultText]
		for _, tag := range one.Text.Languages() {
			lines[i] += " | " + tag + ": " + one.Text[tag]
		}
	}
	return strings.Join(lines, "\n")
}

// UnmarshalText reads a line for each link: the address, the text, and the texts in other languages.
func (l *Links) UnmarshalText(text []byte) error {
	all := Links{}
	for line := range strings.Lines(string(text)) {
		address, words, ok := strings.Cut(strings.TrimSpace(line), " ")
		if address == "" {
			continue
		}
		if !ok {
			return fmt.Errorf("must have a text behind %s", address)
		}
		one := Link{URL: address}
		if err := one.Text.UnmarshalText([]byte(strings.ReplaceAll(words, "|", "\n"))); err != nil {
			return err
		}
		all = append(all, one)
	}
	*l = all
	return nil
}

// MarshalJSON writes a list.
func (l Links) MarshalJSON() ([]byte, error) { return json.Marshal(append([]Link{}, l...)) }

// UnmarshalJSON reads a list.
func (l *Links) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, (*[]Link)(l)) }

// address is an https address or a path, of characters that an address may have.
var address = regexp.MustCompile(`^(https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/|$)|/([^/]|$))`)

func (s Settings) linksFault() string {
	if len(s.PageLinks) > MaxLinks {
		return fmt.Sprintf("has %d links, must have at most %d", len(s.PageLinks), MaxLinks)
	}
	for i, one := range s.PageLinks {
		err := setting.CheckText(one.URL, MaxLinkLength)
		if err == nil && (!address.MatchString(one.URL) || strings.ContainsAny(one.URL, " \\\"'<>`")) {
			err = errors.New("must be https://... or a path such as /imprint")
		}
		if err == nil {
			err = one.Text.Check(MaxLinkText)
		}
		if err == nil && len(one.Text) == 0 {
			err = errors.New("must have a text")
		}
		if err != nil {
			return fmt.Sprintf("%d (%s) %v", i+1, one.URL, err)
		}
	}
	return ""
}

// LinksOf are the links as far as they may be shown, wherever they come from: see LogoOf.
func LinksOf(s Settings) Links {
	if s.linksFault() != "" {
		return nil
	}
	return s.PageLinks
}

func (s Settings) sayLinks() string {
	all := make([]string, len(s.PageLinks))
	for i, one := range s.PageLinks {
		all[i] = one.Text[DefaultText] + " (" + one.URL + ")"
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// slotsFault bounds all slots together.
func (s Settings) slotsFault() string {
	sum := 0
	for _, slot := range []Texts{s.PageHeader, s.PageAside, s.PageFooter} {
		for _, text := range slot {
			sum += len(text)
		}
	}
	if sum > MaxSlots {
		return fmt.Sprintf("has %d bytes with the other slots, must have at most %d", sum, MaxSlots)
	}
	return ""
}

func (s Settings) sourcesFault() string {
	if i := slices.IndexFunc(s.PageSources, func(host string) bool { return !hostname.MatchString(host) }); i >= 0 {
		return fmt.Sprintf("%q must be a host's name in small letters, such as images.shop.example", s.PageSources[i])
	}
	return ""
}

// SourcesOf are the hosts of images as far as they may be shown, wherever they come from: see LogoOf.
func SourcesOf(s Settings) []string {
	if s.sourcesFault() != "" {
		return nil
	}
	return s.PageSources
}

// size is a long text in a few words.
func size(text string) string {
	if text == "" {
		return "none"
	}
	return fmt.Sprintf("%.1f KB", float64(len(text))/1000)
}
