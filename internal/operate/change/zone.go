package change

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Line is what is known of a zone's line. The zero value is a line of which nothing is known.
type Line struct {
	Known bool
	// Waiting is how many wait. EstimateMillis is the wait of one who joins now, in milliseconds.
	Waiting        int64
	EstimateMillis int64
	// ProviderKeys: the server that answers has the keys of a challenge's provider. The command line does not know.
	ProviderKeys bool
}

// words are how many wait.
func (l Line) words() string {
	if !l.Known {
		return "an unknown number"
	}
	return count(l.Waiting)
}

// Zone says what a change of a zone's settings does to its line. at is the time on the clock of the zone's store.
func Zone(was, now zone.Settings, line Line, at time.Time) Says {
	var all Says
	waiting := line.words()
	if all.soldOut(was, now, waiting); len(now.SoldOut) > 0 && len(was.SoldOut) > 0 {
		now.Mode, now.PerMinute = was.Mode, was.PerMinute // neither shows meanwhile
	}

	gathers, opens := was.Unopened(false)
	if now.Mode != was.Mode {
		switch {
		case now.Mode == zone.ModeOpen && gathers != "":
			all.Warn("Nobody is admitted before %s opens. Then all visitors are admitted at once, without the limit. The protected service gets all of them.", gathers)
		case now.Mode == zone.ModeOpen:
			all.Warn("All visitors are admitted at once, without the limit. The protected service gets all of them.")
			if line.Waiting > 0 || !line.Known {
				all.Warn("Visitors who wait (%s) enter at their next poll, most of them within 20 s.", waiting)
			}
		case now.Mode == zone.ModeClosed && gathers != "":
			all.Add("Newcomers are refused. Visitors who wait keep their places, and nobody is admitted before %s opens.", gathers)
		case now.Mode == zone.ModeClosed && now.PerMinute == 0:
			all.Add("Newcomers are refused. Visitors who wait keep their places. The limit is 0, so nobody is admitted.")
		case now.Mode == zone.ModeClosed:
			all.Add("Newcomers are refused. Visitors who wait keep their places and are still admitted.")
		default:
			all.Add("Newcomers get places in the line again, and the limit holds.")
		}
	}

	if now.PerMinute != was.PerMinute {
		switch {
		case now.PerMinute == 0 && now.Mode == zone.ModeOpen && gathers == "":
			all.Warn("A limit of 0 holds nobody while the mode is open. Set the mode to queue.")
		case now.PerMinute == 0:
			all.Add("Nobody is admitted. Visitors who wait (%s) keep their places, and newcomers still get places.", waiting)
			all.Add("Visitors who were admitted before stay in.")
		case was.PerMinute > 0 && now.PerMinute >= 2*was.PerMinute:
			all.Warn("That is %.1f times as many as now. Be sure that the protected service can take it.",
				float64(now.PerMinute)/float64(was.PerMinute))
		}
		if was.PerMinute > 0 && now.PerMinute > 0 && now.PerMinute < was.PerMinute {
			all.Add("Admissions of the last 60 s count: nobody enters until they are fewer than the new limit.")
		}
	}
	if limit := window.RatesOf(now).Limit; now.PerMinute > 0 && limit != window.RatesOf(was).Limit {
		all.Add("At most %s enter in any %s.", count(limit), seconds(now.WindowSeconds))
	}
	all.flow(was, now)
	if now.PerMinute != was.PerMinute || now.Mode != was.Mode || now.MaxPerSecond != was.MaxPerSecond {
		if gathers != "" { // the estimate is from now on, and has the time until then in it
			line.EstimateMillis, at = window.MaxEstimateMillis, time.UnixMilli(max(at.UnixMilli(), opens))
		}
		if gathers == "" || opens > 0 {
			all.lastIn(was, now, line, at)
		}
	}
	all.rest(was, now, line)
	all.page(was, now)
	all = append(all, List(was, now, at)...)
	all = append(all, Event(was, now, line, at)...)
	all.overridden(was, now)
	if !line.Known {
		all.Warn("The store does not answer just now, so how many wait is not known.")
	}
	return all
}

// overridden adds what the event that comes next sets otherwise.
func (s *Says) overridden(was, now zone.Settings) {
	then, settings, step, at := now.Overridden(was)
	for _, x := range settings {
		one := Say{Warn: true, Text: fmt.Sprintf("%s sets it otherwise, %s: %s, at", now.EventState.Now.Event.Name, strings.ToLower(x.Label), x.Words(then)), At: time.UnixMilli(at), Full: true, Tail: "."}
		if at == event.Never {
			one = Say{Warn: true, Text: strings.TrimSuffix(one.Text, ", at") + ", once " + Nouns[step] + " is held no more."}
		}
		*s = append(*s, one)
	}
}

// flow adds how evenly a line enters.
func (s *Says) flow(was, now zone.Settings) {
	rates, before := window.RatesOf(now), window.RatesOf(was)
	if now.PerMinute == 0 || rates.PerSecond == before.PerSecond {
		return
	}
	if rates.PerSecond == rates.Limit {
		s.Add("All of a window may enter in the same second.")
		return
	}
	s.Add("While there is a line, at most %s enter in any second.", count(rates.PerSecond))
	if rates.Pace < rates.PerMinute {
		s.Warn("That is less than the limit: the line goes on at %s a minute.", count(rates.Pace))
	}
}

// soldOut adds the effects of an end that is announced, or taken back.
func (s *Says) soldOut(was, now zone.Settings, waiting string) {
	switch kept := seconds(now.IdleTimeoutSeconds + now.KeepPlaceSeconds); {
	case maps.Equal(was.SoldOut, now.SoldOut):
	case len(now.SoldOut) == 0:
		s.Add("The line goes on. A visitor who read that it is sold out keeps the place until %s after the last poll.", kept)
	case len(was.SoldOut) > 0:
		s.Add("Visitors who poll or join from now on get the new text.")
	default:
		s.Warn("Nobody is admitted any more. Visitors who wait (%s) learn it at their next poll, most of them within 20 s. Then they stop polling.", waiting)
		s.Add("Newcomers get the same answer. Visitors who were admitted before stay in.")
		s.Add("You can take it back: visitors keep their places until %s after their last poll.", kept)
	}
}

// worded are the settings that have sentences of their own. What another setting means, its row of zone.Table says.
var worded = []string{
	"perMinute", "mode", "windowSeconds", "maxPerSecond", "maxWaiting", "idleTimeoutSeconds", "keepPlaceSeconds", "message", "soldOut", "pageColor", "pageLogo", "sites",
	"events", "eventState", "insideState", "pilotState",
}

// rest adds the effects of the other settings.
func (s *Says) rest(was, now zone.Settings, line Line) {
	switch {
	case now.MaxWaiting == was.MaxWaiting:
	case now.MaxWaiting == 0:
		s.Add("The length of the line refuses no newcomer.")
	case line.Waiting >= now.MaxWaiting:
		s.Warn("%s wait, so newcomers are refused until fewer than %s wait. Nobody loses a place.", line.words(), count(now.MaxWaiting))
	default:
		s.Add("Newcomers are refused once %s wait. %s wait now.", count(now.MaxWaiting), line.words())
	}
	if now.IdleTimeoutSeconds != was.IdleTimeoutSeconds {
		s.Add("The place of a visitor who does not poll for %s is taken out of the line.", seconds(now.IdleTimeoutSeconds))
	}
	if now.KeepPlaceSeconds != was.KeepPlaceSeconds {
		s.Add("A visitor who falls silent can come back to the place for %s after the missed poll.", seconds(now.IdleTimeoutSeconds+now.KeepPlaceSeconds))
	}
	if now.KeptFor() < was.KeptFor() {
		s.Warn("A phone that sleeps for longer than %s loses its place.", seconds(now.IdleTimeoutSeconds+now.KeepPlaceSeconds))
	}
	if ttl := now.PassTTL(); ttl != was.PassTTL() {
		s.Add("Visitors who are admitted from now on have %s to enter the service.", seconds(int64(ttl/time.Second)))
	}
	for _, x := range zone.Table.Differences(was, now) {
		if meaning := x.Meaning(now); !slices.Contains(worded, x.Name) && meaning != x.Hint {
			s.Add("%s: %s (%s).", x.Label, x.Words(now), meaning)
		}
	}
	holds := func(s zone.Settings) bool { return s.PerMinute == 0 || s.Mode == zone.ModeClosed }
	if now.SiteGate == zone.GateObserve && (was.SiteGate != now.SiteGate || holds(now) && !holds(was)) {
		s.Warn("The gate before a site lets everybody go on, in a line and in a pause, too.")
	}
	if now.Challenge != was.Challenge && now.Challenge != zone.ChallengeNone && now.Challenge != zone.ChallengeWork {
		if line.ProviderKeys {
			s.Add("This server has the provider's keys. Each other server needs the same keys.")
		} else {
			s.Warn("Each server needs QUEUE_CHALLENGE_SITE_KEY and its secret. Without them nobody who is asked for the challenge can join.")
		}
	}
	if now.MaxShareByNetwork != was.MaxShareByNetwork || !slices.Equal(now.NetworkShares, was.NetworkShares) {
		if now.MaxShareByNetwork == 0 && len(now.NetworkShares) == 0 {
			s.Add("No newcomer is refused for the network.")
		} else {
			s.Add("While there is a line, newcomers from a network that has its share are refused. Nobody loses a place.")
		}
		if now.MaxShareByNetwork > 0 && now.MaxShareByNetwork != was.MaxShareByNetwork {
			s.Warn("A mobile provider can have a third of a country's visitors: look at the networks first.")
		}
	}
}

// page adds the effects of the settings of the waiting page.
func (s *Says) page(was, now zone.Settings) {
	switch {
	case maps.Equal(now.Message, was.Message):
	case len(now.Message) == 0:
		s.Add("The message disappears from each page with the next poll, from most within 20 s.")
	default:
		s.Add("Each visitor who waits sees the message with the next poll, most within 20 s.")
	}
	if len(now.Sites) == 0 && len(was.Sites) > 0 {
		s.Warn("The waiting page redirects to paths of its own address only.")
	}
	for _, site := range now.Sites {
		if strings.HasPrefix(site, "http://") && !slices.Contains(was.Sites, site) {
			s.Warn("%s has no TLS: others on the network can read passes on their way to it.", site)
		}
	}
}

// lastIn says when the last of those who wait enters, then and now.
func (s *Says) lastIn(was, now zone.Settings, line Line, at time.Time) {
	if line.Waiting == 0 || now.PerMinute == 0 || now.Mode == zone.ModeOpen {
		return
	}
	enters := func(perMinute int64) time.Time { return at.Add(lastWait(was, perMinute, line)) }
	pace, before := window.RatesOf(now).Pace, window.RatesOf(was).Pace
	s.AddAt(enters(pace), ".", "At %s a minute the last of %s enters at about", count(pace), count(line.Waiting))
	if was.PerMinute > 0 && before != pace && was.Mode != zone.ModeOpen {
		s.AddAt(enters(before), ".", "At %s a minute, as now, it would be at about", count(before))
	}
}

// lastWait is how long the last in the line waits at that limit. The store's
// estimate tells how many of the line will take a slot, as those who leave do
// not; where it says nothing, all will.
func lastWait(was zone.Settings, perMinute int64, line Line) time.Duration {
	slots := float64(line.Waiting)
	if was.PerMinute > 0 && was.Mode != zone.ModeOpen && line.EstimateMillis < window.MaxEstimateMillis {
		slots = min(slots, float64(line.EstimateMillis)*float64(window.RatesOf(was).Pace)/window.MinuteMillis)
	}
	return time.Duration(slots / float64(perMinute) * float64(time.Minute))
}

// ZoneLoss says what is lost with a zone that is deleted.
func ZoneLoss(line Line) Says {
	return Says{
		{Warn: true, Text: line.words() + " waiting. All lose their places, and each later join is refused."},
		{Text: "This cannot be undone. The record of changes stays."},
	}
}

// Recorded says what a change in the record did to a zone, one setting each.
func Recorded(c zone.Change) []string {
	switch {
	case c.Now == nil && c.Was == nil:
		return []string{"unknown"}
	case c.Now == nil:
		return []string{"deleted"}
	case c.Was == nil:
		made := []string{"made with perMinute " + count(c.Now.PerMinute)}
		for _, d := range Differences(zone.Table, zone.Defaults(c.ZoneID), *c.Now) {
			if d.Name != "perMinute" {
				made = append(made, d.Name+" "+d.NowText)
			}
		}
		return []string{strings.Join(made, ", ")}
	}
	var all []string
	for _, d := range Events(*c.Was, *c.Now, Differences(zone.Table, *c.Was, *c.Now)) {
		all = append(all, d.String())
	}
	if len(all) == 0 {
		all = append(all, "nothing that this version knows of")
	}
	return all
}
