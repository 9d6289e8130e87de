package change_test

import (
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/zone"
)

// told are the sentences in one text, "!" before a warning.
func told(all change.Says) string {
	var b strings.Builder
	for _, s := range all {
		if s.Warn {
			b.WriteString("! ")
		}
		b.WriteString(s.Text)
		if !s.At.IsZero() {
			b.WriteString(" " + s.At.UTC().Format("15:04 UTC"))
		}
		b.WriteString(s.Tail + "\n")
	}
	return b.String()
}

func TestEffects(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 11, 59, 0, 0, time.UTC)
	line := change.Line{Known: true, Waiting: 12_340, EstimateMillis: 1_234_000}
	set := func(f func(*zone.Settings)) zone.Settings {
		s := zone.Defaults("Z")
		f(&s)
		return s
	}
	limit := func(n int64) zone.Settings { return set(func(s *zone.Settings) { s.PerMinute = n }) }
	mode := func(m zone.Mode) zone.Settings { return set(func(s *zone.Settings) { s.Mode = m }) }
	leaving := line
	leaving.EstimateMillis = 617_000 // every second one leaves
	empty := change.Line{Known: true}

	tests := map[string]struct {
		was, now zone.Settings
		line     change.Line
		want     string
	}{
		"more": {limit(600), limit(900), line,
			"At most 90 enter in any 6 s.\nWhile there is a line, at most 19 enter in any second.\n" +
				"At 900 a minute the last of 12,340 enters at about 12:12 UTC.\n" +
				"At 600 a minute, as now, it would be at about 12:19 UTC.\n"},
		"more, and half of them leave": {limit(600), limit(900), leaving,
			"At most 90 enter in any 6 s.\nWhile there is a line, at most 19 enter in any second.\n" +
				"At 900 a minute the last of 12,340 enters at about 12:05 UTC.\n" +
				"At 600 a minute, as now, it would be at about 12:09 UTC.\n"},
		"twice": {limit(600), limit(1500), empty,
			"! That is 2.5 times as many as now. Be sure that the protected service can take it.\nAt most 150 enter in any 6 s.\n" +
				"While there is a line, at most 32 enter in any second.\n"},
		"sold out": {set(func(*zone.Settings) {}), set(func(s *zone.Settings) { s.SoldOut = zone.Texts{"default": "Gone."} }), line,
			"! Nobody is admitted any more. Visitors who wait (12,340) learn it at their next poll, most of them within 20 s. Then they stop polling.\n" +
				"Newcomers get the same answer. Visitors who were admitted before stay in.\n" +
				"You can take it back: visitors keep their places until 960 s after their last poll.\n"},
		"not sold out": {set(func(s *zone.Settings) { s.SoldOut = zone.Texts{"default": "Gone."} }), set(func(*zone.Settings) {}), line,
			"The line goes on. A visitor who read that it is sold out keeps the place until 960 s after the last poll.\n"},
		"sold out, in other words": {set(func(s *zone.Settings) { s.SoldOut = zone.Texts{"default": "Gone."} }),
			set(func(s *zone.Settings) { s.SoldOut, s.PerMinute = zone.Texts{"default": "All gone."}, 0 }), line,
			"Visitors who poll or join from now on get the new text.\n"},
		"less": {limit(600), limit(300), empty,
			"Admissions of the last 60 s count: nobody enters until they are fewer than the new limit.\n" +
				"At most 30 enter in any 6 s.\nWhile there is a line, at most 7 enter in any second.\n"},
		"pause": {limit(600), limit(0), line,
			"Nobody is admitted. Visitors who wait (12,340) keep their places, and newcomers still get places.\n" +
				"Visitors who were admitted before stay in.\n"},
		"resume": {limit(0), limit(600), change.Line{Known: true, Waiting: 1200, EstimateMillis: 86_400_000},
			"At most 60 enter in any 6 s.\nWhile there is a line, at most 13 enter in any second.\n" +
				"At 600 a minute the last of 1,200 enters at about 12:01 UTC.\n"},
		"slower than the limit": {limit(600), set(func(s *zone.Settings) { s.MaxPerSecond = 5 }), line,
			"While there is a line, at most 5 enter in any second.\n! That is less than the limit: the line goes on at 299 a minute.\n" +
				"At 299 a minute the last of 12,340 enters at about 12:40 UTC.\nAt 600 a minute, as now, it would be at about 12:19 UTC.\n"},
		"not evenly": {limit(600), set(func(s *zone.Settings) { s.MaxPerSecond = zone.PerSecondNone }), empty,
			"All of a window may enter in the same second.\n"},
		"open": {mode(zone.ModeQueue), mode(zone.ModeOpen), line,
			"! All visitors are admitted at once, without the limit. The protected service gets all of them.\n" +
				"! Visitors who wait (12,340) enter at their next poll, most of them within 20 s.\n"},
		"close": {mode(zone.ModeQueue), mode(zone.ModeClosed), line,
			"Newcomers are refused. Visitors who wait keep their places and are still admitted.\n" +
				"At 600 a minute the last of 12,340 enters at about 12:19 UTC.\n"},
		"close a paused one": {limit(0), set(func(s *zone.Settings) { s.Mode, s.PerMinute = zone.ModeClosed, 0 }), line,
			"Newcomers are refused. Visitors who wait keep their places. The limit is 0, so nobody is admitted.\n"},
		"pause an open one": {mode(zone.ModeOpen), set(func(s *zone.Settings) { s.Mode, s.PerMinute = zone.ModeOpen, 0 }), line,
			"! A limit of 0 holds nobody while the mode is open. Set the mode to queue.\n"},
		"back to queue": {mode(zone.ModeOpen), mode(zone.ModeQueue), empty,
			"Newcomers get places in the line again, and the limit holds.\n"},
		"fewer may wait than do": {zone.Defaults("Z"), set(func(s *zone.Settings) { s.MaxWaiting = 10_000 }), line,
			"! 12,340 wait, so newcomers are refused until fewer than 10,000 wait. Nobody loses a place.\n"},
		"a shorter silence": {zone.Defaults("Z"), set(func(s *zone.Settings) { s.IdleTimeoutSeconds = 20 }), line,
			"The place of a visitor who does not poll for 20 s is taken out of the line.\n! A phone that sleeps for longer than 920 s loses its place.\n"},
		"the rest": {zone.Defaults("Z"), set(func(s *zone.Settings) {
			s.Burst, s.PassTTLSeconds, s.OnStoreFailure, s.WindowSeconds = 20, 60, zone.FailureAdmit, 12
		}), line,
			"At most 120 enter in any 12 s.\n" +
				"Visitors who are admitted from now on have 60 s to enter the service.\n" +
				"When the store is away: admit (each server admits its share).\n"},
		"a cap": {zone.Defaults("Z"), set(func(s *zone.Settings) { s.MaxInside = 50 }), line,
			"Visitors who are admitted from now on have 60 s to enter the service.\n"},
		"a share of networks": {zone.Defaults("Z"), set(func(s *zone.Settings) { s.NetworkShares = []string{"AS64500=40"} }), line,
			"While there is a line, newcomers from a network that has its share are refused. Nobody loses a place.\n"},
		"no shares of networks": {set(func(s *zone.Settings) { s.MaxShareByNetwork = 5 }), zone.Defaults("Z"), line, "No newcomer is refused for the network.\n"},
		"a provider's challenge": {zone.Defaults("Z"), set(func(s *zone.Settings) { s.Challenge = zone.ChallengeTurnstile }), line,
			"Challenge: Turnstile (Cloudflare's Turnstile checks each browser).\n" +
				"! Each server needs QUEUE_CHALLENGE_SITE_KEY and its secret. Without them nobody who is asked for the challenge can join.\n"},
		"a provider's challenge, whose keys are set": {zone.Defaults("Z"), set(func(s *zone.Settings) { s.Challenge = zone.ChallengeTurnstile }),
			change.Line{Known: true, ProviderKeys: true}, "Challenge: Turnstile (Cloudflare's Turnstile checks each browser).\n" +
				"This server has the provider's keys. Each other server needs the same keys.\n"},
	}
	for name, tt := range tests {
		if got := told(change.Zone(tt.was, tt.now, tt.line, at)); got != tt.want {
			t.Errorf("%s:\n%swant\n%s", name, got, tt.want)
		}
	}
	got := told(change.Zone(limit(600), limit(900), change.Line{}, at))
	for _, opens := range []int64{at.Add(30 * time.Minute).UnixMilli(), event.Never} {
		gathers := limit(600)
		gathers.EventState.Now = &event.Progress{Event: event.Event{Name: "noon"}, Phase: event.PhaseGathering, OpensAtMillis: opens}
		line := line
		line.EstimateMillis += (30 * time.Minute).Milliseconds()
		more, open, closed := gathers, gathers, gathers
		more.PerMinute, open.Mode, closed.Mode = 1000, zone.ModeOpen, zone.ModeClosed
		if got := told(change.Zone(gathers, closed, line, at)); !strings.HasPrefix(got, "Newcomers are refused. Visitors who wait keep their places, and nobody is admitted before noon opens.\n") {
			t.Errorf("close while people gather:\n%s", got)
		}
		past := gathers
		past.Events = []event.Event{{Name: "summer", OpensAt: at.Add(-time.Hour).Format(time.RFC3339)}}
		if got := told(change.Zone(past, gathers, line, at)); got != "" {
			t.Errorf("an event that is over is taken off the list:\n%s", got)
		}
		got := told(change.Zone(gathers, more, line, at))
		if want := "At 1,000 a minute the last of 12,340 enters at about 12:41 UTC.\nAt 600 a minute, as now, it would be at about 12:49 UTC.\n"; strings.Contains(got, want) != (opens != event.Never) ||
			opens == event.Never && strings.Contains(got, "enters at about") {
			t.Errorf("while people gather:\n%s", got)
		}
		if got := told(change.Zone(gathers, open, line, at)); got != "! Nobody is admitted before noon opens. Then all visitors are admitted at once, without the limit. The protected service gets all of them.\n" {
			t.Errorf("open while people gather:\n%s", got)
		}
	}
	announced := limit(600)
	announced.EventState.Now = &event.Progress{
		Event: event.Event{Name: "noon", Settings: event.Values{"perMinute": "6000"}}, Phase: event.PhaseAnnounced,
		PreQueueAtMillis: at.Add(time.Minute).UnixMilli(), OpensAtMillis: at.Add(time.Minute).UnixMilli(),
	}
	stopped, same := announced, announced
	stopped.PerMinute, same.PerMinute = 0, 6000
	const sets = "! noon sets it otherwise, limit: 6,000 a minute, at 12:00 UTC.\n"
	if got := told(change.Zone(announced, stopped, line, at)); !strings.HasSuffix(got, sets) {
		t.Errorf("a pause a minute before an event that lifts it:\n%s", got)
	}
	if got := told(change.Zone(announced, same, line, at)); strings.Contains(got, "otherwise") {
		t.Errorf("what the event sets, too:\n%s", got)
	}
	stopped.EventState.Now = &event.Progress{
		Event: announced.EventState.Now.Event, Phase: event.PhaseAnnounced, Held: event.StepPreQueue, PreQueueAtMillis: event.Never, OpensAtMillis: event.Never,
	}
	if got := told(change.Zone(announced, stopped, line, at)); !strings.HasSuffix(got, "! noon sets it otherwise, limit: 6,000 a minute, once the gathering is held no more.\n") {
		t.Errorf("a pause, and the gathering is held:\n%s", got)
	}
	const unknown = "! The store does not answer just now, so how many wait is not known.\n"
	if !strings.HasSuffix(got, unknown) {
		t.Errorf("store away:\n%s", got)
	}
	for _, now := range []zone.Settings{
		limit(0), mode(zone.ModeOpen), set(func(s *zone.Settings) { s.MaxWaiting = 100 }),
		set(func(s *zone.Settings) { s.SoldOut = zone.Texts{"default": "Gone."} }),
	} {
		if got := told(change.Zone(limit(600), now, change.Line{}, at)); !strings.Contains(got, "an unknown number") || strings.Contains(got, "(0)") || strings.Contains(got, " 0 wait") {
			t.Errorf("store away:\n%s", got)
		}
	}
}

// TestEffectsOfThePage: when visitors see another message, and which sites are not safe.
func TestEffectsOfThePage(t *testing.T) {
	t.Parallel()
	was := zone.Defaults("Z")
	now := was
	now.Message, now.Sites = zone.Texts{"default": "Doors at noon."}, []string{"https://shop.example", "http://old.example"}
	want := "Each visitor who waits sees the message with the next poll, most within 20 s.\n" +
		"! http://old.example has no TLS: others on the network can read passes on their way to it.\n"
	if got := told(change.Zone(was, now, change.Line{Known: true}, time.Now())); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	want = "The message disappears from each page with the next poll, from most within 20 s.\n" +
		"! The waiting page redirects to paths of its own address only.\n"
	if got := told(change.Zone(now, was, change.Line{Known: true}, time.Now())); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}
