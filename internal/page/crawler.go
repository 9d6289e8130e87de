package page

import (
	"net/http"
	"regexp"
	"strings"
)

// crawlers matches the User-Agents of programs that read pages for an index, a preview of a link or a model, as they call
// themselves: by a word for it, by the address of a page about them (+https://...), or by a name of their own. CUBOT is a
// maker of phones, and browsers inside apps are browsers.
var crawlers = regexp.MustCompile(`(?i)(^|[^u])bot([^a-z]|$)|crawler|spider|slurp|\+ ?https?://|externalhit|facebookcatalog|meta-external|` +
	`^whatsapp/|^viber/|^pinterest/|preview|embedly|iframely|vkshare|ia_archiver|archive\.org|` +
	`[a-z]-google\b|\bgoogle-|googleother|chrome-lighthouse|validator`)

// CrawlersComeAgain is the Retry-After of what crawlers get while others wait, in seconds: they have time.
const CrawlersComeAgain = "600"

// Crawls reports whether the User-Agent says that it is a crawler or makes previews of links: nobody waits there.
func Crawls(agent string) bool { return crawlers.MatchString(agent) }

// InAdvance reports whether a program fetches a page in advance, which its user may open later: browsers, older ones too,
// and programs for mail and chat.
func InAdvance(h http.Header) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		if said := strings.ToLower(h.Get(name)); strings.Contains(said, "prefetch") || strings.Contains(said, "preview") {
			return true
		}
	}
	return false
}
