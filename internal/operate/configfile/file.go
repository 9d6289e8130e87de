// Package configfile reads the YAML file of QUEUE_CONFIG: the settings of a server, by
// the names of their flags, the sites that it stands in front of, and the zones and limits that it makes when they are
// absent. The command line applies the same files to a running server.
package configfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/operate/login"
	"github.com/openqueue/waitingroom/internal/serve/secret"
	"github.com/openqueue/waitingroom/internal/serve/strictyaml"
	"github.com/openqueue/waitingroom/internal/zone"
)

// The keys of the file that are no settings of the server.
const (
	zonesKey  = "zones"
	limitsKey = "limits"
	sitesKey  = "sites"
	groupsKey = "groups"
)

// File is what a file says.
type File struct {
	Path string
	// Shared tells that others on this machine may read or write it.
	Shared   bool
	Settings map[string]Setting
	// Zones and Limits are what a server makes when it is absent.
	Zones  []zone.Settings
	Limits []limit.Policy
	// Sites are those that the server stands in front of.
	Sites []Site
	// Groups say what people may do who log in by somebody whom the server trusts.
	Groups login.Groups
	// Named has for each zone the names of the settings that the file sets. All others of Zones have their defaults.
	Named map[string][]string
}

// Site is a gateway.Site, which package gateway checks.
type Site struct {
	Host     string `yaml:"host"`
	Path     string `yaml:"path"`
	Zone     string `yaml:"zone"`
	Upstream string `yaml:"upstream"`
}

// Setting is one setting and the line that it is in. A list is joined by commas,
// as on the command line.
type Setting struct {
	Value string
	Line  int
}

// Read reads a file. keys are the settings that it may hold. The error lists all
// that is wrong with it, with line numbers.
func Read(path string, keys []string) (*File, error) {
	text, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if err := cmp.Or(err, statErr); err != nil {
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	f, err := Parse(path, text, keys)
	if err == nil {
		f.Shared = secret.IsShared(info.Mode())
	}
	return f, err
}

// Parse reads the text of a file, which is named path in the error: YAML, or a JSON object.
func Parse(path string, text []byte, keys []string) (*File, error) {
	f := &File{Path: path, Settings: make(map[string]Setting), Named: make(map[string][]string)}
	root, err := rootOf(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := &reader{File: f, Reader: strictyaml.Reader{Lenient: true}}
	if root != nil && root.Tag != "!!null" {
		r.Members(root, "the file", append(slices.Clone(keys), zonesKey, limitsKey, sitesKey, groupsKey), r.member)
	}
	var faults []error
	for _, fault := range r.Faults {
		faults = append(faults, fmt.Errorf("%s:%d: %s", path, fault.Line, fault.Text))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return f, nil
}

// rootOf reads a text; nil for one with nothing but comments. JSON is no YAML for the YAML decoder: not all of its escapes.
func rootOf(text []byte) (*yaml.Node, error) {
	if n, err := strictyaml.Object(bytes.TrimPrefix(text, []byte("\ufeff"))); err == nil {
		return n, nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("holds more than one YAML document; keep the first")
	}
	return doc.Content[0], nil
}

// reader fills a File.
type reader struct {
	*File
	strictyaml.Reader
}

func (r *reader) member(key, value *yaml.Node) {
	lines := make(map[string]int)
	once := func(n *yaml.Node, what, name string) bool {
		first, twice := lines[name]
		if twice {
			r.Fault(n, "%s %q is in line %d already", what, name, first)
		}
		lines[name] = n.Line
		return !twice
	}
	switch key.Value {
	case zonesKey:
		r.List(value, zonesKey, func(n *yaml.Node) {
			if s, ok := r.zone(n); ok && once(n, "zone", s.ZoneID) {
				r.Zones = append(r.Zones, s)
				for i := 0; i < len(n.Content); i += 2 { // a mapping has its keys and values in turn
					r.Named[s.ZoneID] = append(r.Named[s.ZoneID], n.Content[i].Value)
				}
			}
		})
	case limitsKey:
		r.List(value, limitsKey, func(n *yaml.Node) {
			p, faults := policyset.Read(n, "")
			r.Faults = append(r.Faults, faults...)
			if len(faults) == 0 && once(n, "policy", p.Name) {
				r.Limits = append(r.Limits, p)
			}
		})
		if len(r.Limits) > limit.MaxPolicies {
			r.Fault(value, "%d policies, at most %d", len(r.Limits), limit.MaxPolicies)
		}
	case sitesKey:
		r.List(value, sitesKey, func(n *yaml.Node) {
			var s Site
			r.Struct(n, "a site", &s)
			r.Sites = append(r.Sites, s)
		})
	case groupsKey:
		r.List(value, groupsKey, func(n *yaml.Node) {
			var g login.Group
			r.Struct(n, "a group", &g)
			r.Groups = append(r.Groups, g)
		})
	default:
		r.setting(key, value)
	}
}

func (r *reader) setting(key, value *yaml.Node) {
	items := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		items = value.Content
	}
	var values []string
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			r.Fault(item, "%s must be one value, or a list of values", key.Value)
			return
		}
		values = append(values, item.Value)
	}
	r.Settings[key.Value] = Setting{Value: strings.Join(values, ","), Line: key.Line}
}

// zone reads one zone; what it does not set has its default.
func (r *reader) zone(n *yaml.Node) (zone.Settings, bool) {
	s, before := zone.Defaults(""), len(r.Faults)
	strictyaml.Settings(&r.Reader, n, "a zone", zone.Table, &s, zone.IDName, &s.ZoneID)
	if len(r.Faults) > before {
		return s, false
	}
	err := s.Validate()
	if fault := s.StepFault(time.Now()); err == nil && fault != "" {
		err = fmt.Errorf("%w: %s", zone.ErrInvalid, fault)
	}
	if err != nil {
		r.Fault(n, "%v", err)
		return s, false
	}
	return s, true
}
