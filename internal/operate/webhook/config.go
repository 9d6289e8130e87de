package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/serve/strictyaml"
)

// The events.
const (
	PlaceSoon   = "place.soon"
	PlaceTurn   = "place.turn"
	ZoneChanged = "zone.changed"
)

// Events are all that there are.
var Events = []string{PlaceSoon, PlaceTurn, ZoneChanged}

const (
	// secretPrefix begins a secret, as the Standard Webhooks scheme has it. Then comes Base64 of leastSecret to mostSecret bytes.
	secretPrefix            = "whsec_"
	leastSecret, mostSecret = 24, 64
)

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// Hook is a webhook: where to call, for which events.
type Hook struct {
	// Name is its name in the store, in metrics and in the log.
	Name string `yaml:"name"`
	URL  string `yaml:"url"`
	// Secret is what signs calls: one secret, or several with blanks between them while they are replaced.
	Secret string   `yaml:"secret"`
	Events []string `yaml:"events"`
	// PrivateNetworks are those that the webhook may call besides public addresses.
	PrivateNetworks []string `yaml:"privateNetworks"`

	secrets  [][]byte
	networks []netip.Prefix
}

// Read reads the webhooks of a file: a YAML list. The error names all that is wrong.
func Read(path string) ([]Hook, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse reads the text of a file.
func Parse(path string, text []byte) (all []Hook, _ error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("%s has no webhooks", path)
	}
	r := strictyaml.Reader{Lenient: true}
	r.List(doc.Content[0], "the file", func(n *yaml.Node) {
		var h Hook
		before := len(r.Faults)
		if r.Struct(n, "a webhook", &h); len(r.Faults) > before {
			return
		}
		for _, err := range h.check() {
			r.Fault(n, "%v", err)
		}
		if slices.ContainsFunc(all, func(other Hook) bool { return other.Name == h.Name }) {
			r.Fault(n, "name %q is there twice", h.Name)
		}
		all = append(all, h)
	})
	faults := make([]error, len(r.Faults))
	for i, f := range r.Faults {
		faults[i] = fmt.Errorf("%s:%d: %s", path, f.Line, f.Text)
	}
	return all, errors.Join(faults...)
}

// check fills what the texts mean, and returns what is wrong with them. No error has a secret.
func (h *Hook) check() (faults []error) {
	fault := func(format string, a ...any) { faults = append(faults, fmt.Errorf(format, a...)) }
	if !validName.MatchString(h.Name) {
		fault("name %q must be 1 to 64 lower-case letters, digits and hyphens, such as shop-backend", h.Name)
	}
	for _, text := range h.PrivateNetworks {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			fault("privateNetworks: %q is no network such as 10.0.0.0/8", text)
			continue
		}
		h.networks = append(h.networks, network.Masked())
	}
	switch u, err := url.Parse(h.URL); {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http":
		fault("url must be an address such as https://shop.example/hooks/queue, without a user and a fragment")
	case u.Scheme == "http" && len(h.networks) == 0:
		fault("url must begin with https://: http:// is for addresses in privateNetworks")
	}
	secrets := strings.Fields(h.Secret)
	if len(secrets) == 0 {
		fault("secret is missing: make one with: echo %s$(openssl rand -base64 32)", secretPrefix)
	}
	for i, text := range secrets {
		encoded, prefixed := strings.CutPrefix(text, secretPrefix)
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !prefixed || err != nil || len(key) < leastSecret || len(key) > mostSecret {
			fault("secret %d must be %s and Base64 of %d to %d bytes: make one with: echo %s$(openssl rand -base64 32)",
				i+1, secretPrefix, leastSecret, mostSecret, secretPrefix)
		}
		h.secrets = append(h.secrets, key)
	}
	if len(h.Events) == 0 {
		fault("events is missing: it lists some of %s", strings.Join(Events, ", "))
	}
	for _, name := range h.Events {
		if !slices.Contains(Events, name) {
			fault("events: %q is none of %s", name, strings.Join(Events, ", "))
		}
	}
	return faults
}

func (h *Hook) wants(event string) bool { return slices.Contains(h.Events, event) }
