package serve_test

import (
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestTextFor(t *testing.T) {
	t.Parallel()
	texts := zone.Texts{"default": "*", "de": "de", "pt-BR": "br", "zh-Hant": "hant", "qq": "qq"}
	for accept, want := range map[string]string{
		"": "*", "de": "de", "de-CH,fr;q=0.9": "de", "fr": "*", "fr,de;q=0.1": "de", "en-US,en;q=0.9": "*", "pt": "br", "zh-TW": "hant", "zh-CN": "hant",
		"*": "*", "DE": "de", "sv;q=x": "*", "\xff": "*", "art-x-default": "*", "ja;q=0.5,de;q=0": "*",
		// What is too long is cut behind a language.
		strings.Repeat("ja,", 169) + "de,fr": "de", strings.Repeat("ja,", 171) + "de": "*", strings.Repeat("j", 600): "*",
	} {
		if got := serve.TextFor(texts, accept); got != want {
			t.Errorf("%q: %s, want %s", accept, got, want)
		}
	}
	if got := serve.TextFor(zone.Texts{"default": "x"}, "de") + serve.TextFor(nil, "de"); got != "x" {
		t.Error(got)
	}
}
