package observed

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// List is what a server has kept of a zone.
type List struct {
	ZoneID string `json:"zoneId" example:"SHOP" doc:"The zone."`
	Since  int64  `json:"since" format:"int64" minimum:"0" maximum:"9007199254740991" example:"1795223373123" doc:"When the first request came, in Unix milliseconds; 0 if there was none."`
	// Forgotten are requests of kinds that are not kept any more.
	Forgotten   int64        `json:"forgotten" minimum:"0" example:"0" doc:"Requests of kinds that this server has forgotten, because there were more than 1,000."`
	Kinds       []Seen       `json:"kinds" doc:"The kinds of requests, the most frequent first."`
	Suggestions []Suggestion `json:"suggestions" doc:"What the zone's settings could bypass."`
}

// Suggestion is a line of the zone's settings.
type Suggestion struct {
	Setting string `json:"setting" enum:"bypassPaths|bypassAgents|" example:"bypassPaths" doc:"The setting, empty if no line can be suggested."`
	Value   string `json:"value" example:"/saml/acs" doc:"One more entry of it."`
	Why     string `json:"why" example:"POST by browser, 12 times: a login or a payment that comes back from another site" doc:"What was seen, and what to think of before."`
}

// String is a suggestion as a line.
func (s Suggestion) String() string {
	if s.Setting == "" {
		return s.Why
	}
	return s.Setting + " " + s.Value + ": " + s.Why
}

// List returns what is kept of a zone.
func (l *Log) List(zoneID string) List {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := List{ZoneID: zoneID, Kinds: []Seen{}, Suggestions: []Suggestion{}}
	z := l.zones[zoneID]
	if z == nil {
		return list
	}
	list.Since, list.Forgotten = z.since.UnixMilli(), z.forgotten
	for _, s := range z.seen {
		list.Kinds = append(list.Kinds, *s)
	}
	slices.SortFunc(list.Kinds, func(a, b Seen) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method), strings.Compare(a.Agent, b.Agent))
	})
	list.Suggestions = suggest(list.Kinds)
	return list
}

// suggest returns what could be bypassed: what a visitor in a line cannot make up for. A page's own calls have the page's session, and
// crawlers come again.
func suggest(kinds []Seen) []Suggestion {
	opened := map[string]bool{} // by browsers, as pages
	for _, k := range kinds {
		opened[k.Path] = opened[k.Path] || k.Would == Wait && k.Agent == Browser
	}
	all := []Suggestion{}
	said := map[Suggestion]int{}
	for _, k := range kinds {
		reads := k.Method == http.MethodGet || k.Method == http.MethodHead
		if k.Would == Wait || k.Agent == Page || k.Agent == Crawler && reads {
			continue
		}
		s := Suggestion{"bypassPaths", k.Path, ""}
		why := fmt.Sprintf("%s %s by %s, %d times", k.Method, k.Path, k.Agent, k.Requests)
		switch named := k.Agent != Browser && k.Agent != Crawler && k.Agent != Nameless; {
		case reads && (k.Path == "/" || opened[k.Path]) && named:
			s = Suggestion{"bypassAgents", k.Agent, ""}
			why += ": browsers open this page, too. Anybody can write the name: a path of its own or bypassNetworks is better"
		case reads && (k.Path == "/" || opened[k.Path]), k.Path == "/", strings.HasPrefix(k.Path, "/*"):
			s = Suggestion{}
			why += ": the path cannot be bypassed without bypassing pages. Name the sender's address in bypassNetworks, or a parameter (/?wc-api=*)"
		case k.Would == Lose:
			why += ": a login or a payment that comes back from another site"
		case strings.HasSuffix(k.Path, ".php"):
			why += ": if its parameters say what is asked for, name them (?route=payment*)"
		case !reads:
			why += ": a notice from another service, or an app, which is to join instead"
		}
		s.Why = why
		key := Suggestion{Setting: s.Setting, Value: s.Value}
		if i, is := said[key]; is && s.Setting != "" {
			all[i].Why += "; " + why
			continue
		}
		said[key] = len(all)
		all = append(all, s)
	}
	return all
}

// Line returns the settings that all suggestions make, as NAME=VALUE of the command line; "" for none.
func (l *List) Line(paths, agents []string) string {
	var line []string
	for name, has := range map[string][]string{"bypassPaths": paths, "bypassAgents": agents} {
		values := slices.Clone(has)
		for _, s := range l.Suggestions {
			if s.Setting == name && !slices.Contains(values, s.Value) {
				values = append(values, s.Value)
			}
		}
		if len(values) > len(has) {
			line = append(line, "'"+name+"="+strings.Join(values, ",")+"'")
		}
	}
	slices.Sort(line)
	return strings.Join(line, " ")
}
