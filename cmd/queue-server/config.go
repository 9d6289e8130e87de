package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/serve/secret"
	"github.com/openqueue/waitingroom/internal/zone"
)

// The keys of the file that are no settings.
const (
	zonesKey  = "zones"
	limitsKey = "limits"
)

// configFile is what the YAML file says: settings by the names of their flags,
// and what to create when absent.
type configFile struct {
	path string
	// shared tells that others on this machine may read or write it.
	shared   bool
	settings map[string]configEntry
	seeds
}

// seeds are what a server creates when it is absent.
type seeds struct {
	zones  []zone.Settings
	limits []limit.Policy
}

// configEntry is one setting and the line that it is in. A list is joined by
// commas, as on the command line.
type configEntry struct {
	value string
	line  int
}

// readConfig reads the file. keys are the settings that it may hold. The error
// lists all that is wrong with it, with line numbers.
func readConfig(path string, keys []string) (*configFile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	f, err := parseConfig(path, text, keys)
	if err == nil {
		f.shared = secret.IsShared(info.Mode())
	}
	return f, err
}

func parseConfig(path string, text []byte, keys []string) (*configFile, error) {
	f := &configFile{path: path, settings: make(map[string]configEntry)}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return f, nil // nothing but comments
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: holds more than one YAML document; keep the first", path)
	}
	r := &configReader{configFile: f, keys: append(slices.Clone(keys), zonesKey, limitsKey)}
	r.file(doc.Content[0])
	if err := errors.Join(r.faults...); err != nil {
		return nil, err
	}
	return f, nil
}

// configReader walks the YAML and collects what is wrong with it.
type configReader struct {
	*configFile
	keys   []string
	faults []error
}

// fault adds one fault, at the line of n.
func (r *configReader) fault(n *yaml.Node, format string, a ...any) {
	r.faults = append(r.faults, fmt.Errorf("%s:%d: %w", r.path, n.Line, fmt.Errorf(format, a...)))
}

func (r *configReader) file(root *yaml.Node) {
	if isNull(root) {
		return
	}
	if root.Kind != yaml.MappingNode {
		r.fault(root, "must be settings, one a line, such as addr: \":8080\"")
		return
	}
	r.fields(root, r.keys, func(key, value *yaml.Node) {
		switch {
		case isNull(value):
		case key.Value == zonesKey:
			r.allZones(value)
		case key.Value == limitsKey:
			r.allLimits(value)
		default:
			r.setting(key, value)
		}
	})
}

// fields calls yield for each key that the mapping may have.
func (r *configReader) fields(mapping *yaml.Node, known []string, yield func(key, value *yaml.Node)) {
	lines := make(map[string]int)
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		first, twice := lines[key.Value]
		lines[key.Value] = key.Line
		switch {
		case !slices.Contains(known, key.Value):
			r.fault(key, "unknown key %q; %s", key.Value, suggest(key.Value, known))
		case twice:
			r.fault(key, "%s is in line %d already", key.Value, first)
		default:
			yield(key, value)
		}
	}
}

func (r *configReader) setting(key, value *yaml.Node) {
	items := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		items = value.Content
	}
	var values []string
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || isNull(item) {
			r.fault(item, "%s must be one value, or a list of values", key.Value)
			return
		}
		values = append(values, item.Value)
	}
	r.settings[key.Value] = configEntry{value: strings.Join(values, ","), line: key.Line}
}

func (r *configReader) allZones(list *yaml.Node) {
	if list.Kind != yaml.SequenceNode {
		r.fault(list, "zones must be a list, each begun by a dash: - zoneId: TEST_ZONE")
		return
	}
	lines := make(map[string]int)
	for _, n := range list.Content {
		s, ok := r.zone(n)
		if !ok {
			continue
		}
		if first, twice := lines[s.ZoneID]; twice {
			r.fault(n, "zone %q is in line %d already", s.ZoneID, first)
			continue
		}
		lines[s.ZoneID] = n.Line
		r.zones = append(r.zones, s)
	}
}

func (r *configReader) allLimits(list *yaml.Node) {
	if list.Kind != yaml.SequenceNode {
		r.fault(list, "limits must be a list, each begun by a dash: - name: api")
		return
	}
	lines := make(map[string]int)
	for _, n := range list.Content {
		p, faults := policyset.Read(n, "")
		for _, f := range faults {
			r.faults = append(r.faults, fmt.Errorf("%s:%d: %s", r.path, f.Line, f.Text))
		}
		if first, twice := lines[p.Name]; twice {
			r.fault(n, "policy %q is in line %d already", p.Name, first)
		} else if len(faults) == 0 {
			lines[p.Name] = n.Line
			r.limits = append(r.limits, p)
		}
	}
	if len(r.limits) > limit.MaxPolicies {
		r.fault(list, "%d policies, at most %d", len(r.limits), limit.MaxPolicies)
	}
}

// zone reads one zone; what it does not set has its default.
func (r *configReader) zone(n *yaml.Node) (s zone.Settings, ok bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		r.fault(n, "a zone must be settings, begun by - zoneId: TEST_ZONE")
		return s, false
	}
	before := len(r.faults)
	r.fields(n, zoneKeys, func(key, value *yaml.Node) {
		if value.Kind == yaml.ScalarNode && value.Tag == "!!float" {
			// Left to itself, the decoder cuts the fraction off.
			r.fault(value, "%s is %s, must be a whole number", key.Value, value.Value)
		}
	})
	if len(r.faults) > before {
		return s, false
	}
	s = zone.Defaults("")
	if err := n.Decode(&s); err != nil {
		r.faults = append(r.faults, fmt.Errorf("%s: %w", r.path, err)) // names the line itself
		return s, false
	}
	if err := s.Validate(); err != nil {
		r.fault(n, "%w", err)
		return s, false
	}
	return s, true
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// zoneKeys are the names that a zone's settings have in YAML.
var zoneKeys = func() []string {
	t := reflect.TypeFor[zone.Settings]()
	keys := make([]string, 0, t.NumField())
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		keys = append(keys, name)
	}
	return keys
}()

// suggest completes the sentence about a key that is not known.
func suggest(key string, known []string) string {
	nearest, least := "", max(2, len(key)/3)+1
	for _, k := range known {
		if d := distance(strings.ToLower(key), strings.ToLower(k)); d < least {
			nearest, least = k, d
		}
	}
	if nearest == "" {
		return "known are " + strings.Join(known, ", ")
	}
	return fmt.Sprintf("did you mean %q?", nearest)
}

// distance is the number of letters to insert, remove or change to turn a into
// b (Levenshtein). Keys are short, so a table of two rows does.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
