package markup

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Prefix begins each class of a slot as the page has it.
const Prefix = "shop-"

// policy is what a slot may have. shape drops what it cannot know: addresses of images, and schemes by element.
var policy = func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements(
		"p", "div", "span", "br", "hr", "h2", "h3", "h4", "strong", "em", "b", "i", "u", "s", "small", "sub", "sup", "mark", "q",
		"blockquote", "ul", "ol", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td", "figure",
		"figcaption", "img", "a", "address", "abbr",
	)
	p.AllowNoAttrs().OnElements("span", "a", "img")
	p.AllowAttrs("class", "lang", "dir", "title", "aria-label").Globally()
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("src", "alt", "width", "height").OnElements("img")
	p.AllowAttrs("colspan", "rowspan", "scope").OnElements("th", "td")
	p.AllowURLSchemes("https", "mailto", "tel")
	p.AllowDataURIImages()
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(true)
	return p
}()

// cleanHTML returns the HTML of a slot without what a slot may not have, and what that was. Images come from data: URLs or from one of
// the sources, which are names of hosts. shown has classes get their prefix, and links open a tab of their own.
func cleanHTML(text string, sources []string, shown bool) (clean string, removed []string) {
	context := &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
	nodes, err := html.ParseFragment(strings.NewReader(policy.Sanitize(text)), context)
	if err != nil {
		return "", []string{"all: it is no HTML"}
	}
	var b strings.Builder
	for _, n := range nodes {
		if n = shape(n, sources, shown); n == nil {
			continue
		}
		if err := html.Render(&b, n); err != nil {
			return "", []string{"all: it is no HTML"}
		}
	}
	clean = b.String()
	was, is := inventory(text), inventory(clean)
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if was[name] > is[name] {
			removed = append(removed, name)
		}
	}
	return clean, removed
}

// shape checks the addresses of an element and of all within; nil for one that may not be.
func shape(n *html.Node, sources []string, shown bool) *html.Node {
	if n.Type != html.ElementNode && n.Type != html.TextNode {
		return nil
	}
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
		return a.Key == "href" && !linksTo(a.Val) || shown && (a.Key == "target" || a.Key == "rel")
	})
	if n.DataAtom == atom.Img && !slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "src" && imageFrom(a.Val, sources) }) {
		return nil
	}
	if shown {
		for i := range n.Attr {
			if n.Attr[i].Key == "class" {
				n.Attr[i].Val = prefixed(n.Attr[i].Val)
			}
		}
		if n.DataAtom == atom.A {
			n.Attr = append(n.Attr, html.Attribute{Key: "target", Val: "_blank"}, html.Attribute{Key: "rel", Val: "noopener"})
		}
	}
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if shape(child, sources, shown) == nil {
			n.RemoveChild(child)
		}
		child = next
	}
	return n
}

// prefixed is the value of a class attribute with Prefix before each name.
func prefixed(classes string) string {
	names := strings.Fields(classes)
	for i, name := range names {
		names[i] = Prefix + name
	}
	return strings.Join(names, " ")
}

// linksTo reports whether a link may have that address: https, a path, an address of mail or a number.
func linksTo(address string) bool {
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "mailto:") || strings.HasPrefix(address, "tel:") ||
		strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//") && !strings.Contains(address, `\`)
}

// imageTypes are images in which nothing runs, as data: URLs.
var imageTypes = []string{"data:image/png;base64,", "data:image/jpeg;base64,", "data:image/webp;base64,", "data:image/gif;base64,"}

// imageFrom reports whether an image may have that address: a data: URL, or https at a host of the sources.
func imageFrom(address string, sources []string) bool {
	if slices.ContainsFunc(imageTypes, func(kind string) bool { return strings.HasPrefix(address, kind) }) {
		return true
	}
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.User == nil && slices.Contains(sources, u.Host)
}

// inventory counts the elements and attributes of a text, as its author would name them.
func inventory(text string) map[string]int {
	all := map[string]int{}
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return all
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			element := fmt.Sprintf("<%.40s>", name)
			all[element]++
			for more {
				var key, value []byte
				key, value, more = z.TagAttr()
				all[fmt.Sprintf("%.40s of %s", key, element)]++
				if s := string(key); s == "href" || s == "src" {
					scheme, _, _ := strings.Cut(string(value), ":")
					all[fmt.Sprintf("%s of %s to %.40s", s, element, cmp.Or(scheme, "nothing"))] += 0
				}
			}
		default:
		}
	}
}
