package zone

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/openqueue/waitingroom/internal/setting"
)

// Bounds of what an operator sets of the waiting page.
const (
	// MaxSites is how many origins a page may lead to.
	MaxSites = 20
	// MaxSiteLength is in bytes: a host's name has at most 253.
	MaxSiteLength = 280
	// MaxTitleLength is in bytes: a line on a phone, in any script.
	MaxTitleLength = 120
	// MaxMessageLength is in bytes, in each language: a few sentences, in any script.
	MaxMessageLength = 1_000
	// MaxLogoLength is that of the whole data: URL, in bytes. Each page carries the logo,
	// each server reads it with the settings, and the record keeps it with each change.
	MaxLogoLength = 16 << 10
)

var (
	origin = regexp.MustCompile(`^https?://([a-z0-9-]+(\.[a-z0-9-]+)*|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$`)
	colour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)
	// hostname is in small letters, of two labels at least.
	hostname = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?$`)
)

// logoTypes are the types of image of which a browser runs no script in an <img>.
var logoTypes = []string{"image/png", "image/jpeg", "image/webp", "image/svg+xml"}

// Notice is a number for the message to all who wait, the same on all servers; 0 for
// none. Another message has another number, but for one in four billion; so has one of which
// a translation is another.
func (s *Settings) Notice() int64 {
	if len(s.Message) == 0 {
		return 0
	}
	var sum uint32 // in whatever order
	for tag, text := range s.Message {
		if tag != setting.DefaultText {
			text = tag + ":" + text
		}
		sum += crc32.ChecksumIEEE([]byte(text))
	}
	return int64(sum) + 1
}

// LogoOf and ColorOf are what may be shown of the settings, wherever they come from: ""
// for what is not as Validate wants it.
func LogoOf(s Settings) string {
	if s.logoFault() != "" {
		return ""
	}
	return s.PageLogo
}

// ColorOf is described at LogoOf.
func ColorOf(s Settings) string {
	if s.colourFault() != "" {
		return ""
	}
	return s.PageColor
}

func (s Settings) siteFault() string {
	for _, site := range s.Sites {
		if !origin.MatchString(site) {
			return fmt.Sprintf("%q must be an origin in small letters without a path, such as https://shop.example", site)
		}
	}
	return ""
}

// cookieDomainFault refuses what is no domain of one owner: browsers drop cookies for others, and a session would be everybody's.
func (s Settings) cookieDomainFault() string {
	if s.CookieDomain == "" {
		return ""
	}
	if _, err := publicsuffix.EffectiveTLDPlusOne(s.CookieDomain); err != nil || !hostname.MatchString(s.CookieDomain) {
		return fmt.Sprintf("%q must be a domain of one owner in small letters, such as shop.example: no address, and no public suffix such as co.uk", s.CookieDomain)
	}
	return ""
}

func (s Settings) colourFault() string {
	if s.PageColor != "" && !colour.MatchString(s.PageColor) {
		return fmt.Sprintf("%q must be # and six hexadecimal digits, such as #1d4ed8", s.PageColor)
	}
	return ""
}

func (s Settings) logoFault() string {
	if s.PageLogo == "" {
		return ""
	}
	kind, image := s.logo()
	sniffed := http.DetectContentType(image)
	switch {
	case kind == "":
		return "must be a data: URL of a png, jpeg, webp or svg+xml image in base64, such as data:image/png;base64,iVBORw0KGgo="
	case kind == "image/svg+xml" && !strings.Contains(string(image), "<svg"), kind != "image/svg+xml" && kind != sniffed:
		return "is not the " + kind + " that it says it is"
	}
	return ""
}

// logo is the type of the logo, "" where it is none, and its bytes. Each page asks for it: a regular expression would take 1 ms.
func (s Settings) logo() (kind string, image []byte) {
	head, text, _ := strings.Cut(s.PageLogo, ";base64,")
	kind, ok := strings.CutPrefix(head, "data:")
	if !ok || !slices.Contains(logoTypes, kind) || strings.ContainsAny(text, "\r\n") { // which base64 would skip
		return "", nil
	}
	image, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(image) == 0 {
		return "", nil
	}
	return kind, image
}

// sayLogo is the logo in a few words.
func (s Settings) sayLogo() string {
	kind, image := s.logo()
	if kind == "" {
		return "none"
	}
	return fmt.Sprintf("%s, %.1f KB, %08x", kind, float64(len(image))/1000, crc32.ChecksumIEEE(image))
}

// Ground is what the page's parts stand on, as page.css has it.
type Ground struct{ Name, Color string }

// Grounds are the page's in light and in dark.
var Grounds = []Ground{{"light", "#ffffff"}, {"dark", "#181c25"}}

// TextOn is the colour of text on a ground: white or black, whichever can be read better.
// It has a contrast of 4.58 or more on any ground.
func TextOn(ground string) string {
	const white, black = "#ffffff", "#000000"
	if Contrast(ground, white) >= Contrast(ground, black) {
		return white
	}
	return black
}

// Contrast is that of two colours, #rrggbb each, by WCAG 2.2: 1 to 21.
func Contrast(a, b string) float64 {
	const flare = 0.05
	high, low := luminance(a), luminance(b)
	if high < low {
		high, low = low, high
	}
	return (high + flare) / (low + flare)
}

// luminance is WCAG's relative luminance, 0 to 1; 0 for what is no colour.
func luminance(c string) (sum float64) {
	if !colour.MatchString(c) {
		return 0
	}
	const perByte, linearTo = 255, 0.04045
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v, err := strconv.ParseUint(c[1+2*i:3+2*i], 16, 8)
		if err != nil {
			return 0 // no colour
		}
		x := float64(v) / perByte
		if x <= linearTo {
			x /= 12.92
		} else {
			x = math.Pow((x+0.055)/1.055, 2.4)
		}
		sum += weight * x
	}
	return sum
}
