package page

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// crawlerWords are in the User-Agents, in small letters, of programs that read pages for an index, a preview of a link or a model:
// words for such programs, the address of a page about one (+https://...), and names. crawlerPrefixes begin others.
var (
	crawlerWords = []string{
		"crawler", "spider", "slurp", "+http://", "+ http://", "+https://", "+ https://", "externalhit", "facebookcatalog", "meta-external",
		"preview", "embedly", "iframely", "vkshare", "ia_archiver", "archive.org", "googleother", "chrome-lighthouse", "validator",
	}
	crawlerPrefixes = []string{"whatsapp/", "viber/", "pinterest/", "java/"}
	// crawlerName matches what a word alone cannot tell. CUBOT is a maker of phones, and browsers inside apps are browsers.
	crawlerName = regexp.MustCompile(`(^|[^u])bot([^a-z]|$)|[a-z]-google\b|\bgoogle-`)
)

// maxAgent is how much of a User-Agent is looked at, in bytes: those of browsers have some 150. Anybody can write 32 KB.
const maxAgent = 512

// CrawlersComeAgain is the Retry-After of what crawlers get while others wait, in seconds: they have time.
const CrawlersComeAgain = "600"

// Crawls reports whether the User-Agent says that it is a crawler or makes previews of links: nobody waits there.
func Crawls(agent string) bool {
	agent = strings.ToLower(agent[:min(len(agent), maxAgent)])
	return slices.ContainsFunc(crawlerWords, func(word string) bool { return strings.Contains(agent, word) }) ||
		slices.ContainsFunc(crawlerPrefixes, func(prefix string) bool { return strings.HasPrefix(agent, prefix) }) ||
		(strings.Contains(agent, "bot") || strings.Contains(agent, "google")) && crawlerName.MatchString(agent)
}

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
