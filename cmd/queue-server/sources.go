package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/alecthomas/kong"
)

// settingTag names the environment variable of a flag. kong's own tag env is
// not used: kong reads the process's environment, and gives a file the last word.
const settingTag = "setting"

// variableTag names the environment variable of a flag that no file sets, since
// it is not about the server but about who asks it.
const variableTag = "variable"

// neverTag marks what is a secret: a key of the file and a variable, and refused
// on the command line.
const neverTag = "flag"

// everybodyReads says why.
const everybodyReads = "what is on a command line, everybody on the machine can read"

// credentialTag names the credential that systemd may hand over in a folder
// (LoadCredential=), which is used where the flag is not set otherwise.
const credentialTag = "credential"

const credentialsVariable = "CREDENTIALS_DIRECTORY"

// configFlag names the file; a file cannot name itself.
const configFlag = "config"

// sources gives settings that are not on the command line their values: from
// the environment, else from the file, else kong's default. It implements
// kong.Resolver.
type sources struct {
	getenv func(string) string
	// keys are the settings that a file may hold.
	keys []string
	file *configFile // nil without one
	// from says where the value of a flag comes from, for what is on neither
	// the command line nor the list of defaults.
	from map[string]string
	// faults are what is wrong with the environment and the file. They are
	// kept here since kong would name the flag, which nobody typed.
	faults []error
}

func newSources(getenv func(string) string) *sources {
	return &sources{getenv: getenv, from: make(map[string]string)}
}

// readFile reads the file that --config or its variable names, if the command
// has that flag. kong calls it before it asks for values.
func (s *sources) readFile(ctx *kong.Context) error {
	if len(s.faults) > 0 {
		return nil // kong calls this more than once
	}
	var path string
	for _, flag := range ctx.Flags() {
		if flag.Name == configFlag {
			path = s.getenv(flag.Tag.Get(settingTag))
		}
	}
	for _, p := range ctx.Path {
		switch {
		case p.Flag == nil:
		case p.Flag.Name == configFlag:
			path = ctx.Value(p).String()
		case p.Flag.Tag.Get(neverTag) != "":
			env := p.Flag.Tag.Get(settingTag)
			s.faults = append(s.faults, fmt.Errorf("--%s is no flag any more: %s. Set %s, or name a file with --%s-file or %s_FILE; "+
				"and make another: this one may have been read", p.Flag.Name, everybodyReads, env, p.Flag.Name, env))
		}
	}
	if path == "" || s.file != nil || len(s.faults) > 0 {
		return nil
	}
	file, err := readConfig(path, s.keys)
	if err != nil {
		s.faults = append(s.faults, err)
		return nil
	}
	s.file = file
	return nil
}

// fileKeys returns the settings that a file may hold: all of any command, so
// that one file serves them all.
func fileKeys(node *kong.Node) []string {
	var keys []string
	for _, flag := range node.Flags {
		if flag.Name != configFlag && flag.Tag.Has(settingTag) {
			keys = append(keys, flag.Name)
		}
	}
	for _, child := range node.Children {
		for _, key := range fileKeys(child) {
			if !slices.Contains(keys, key) { // some commands have settings in common
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Validate implements kong.Resolver.
func (s *sources) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver.
func (s *sources) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	value, where := s.lookup(flag)
	if where == "" {
		return nil, nil
	}
	s.from[flag.Name] = where
	if s.file != nil && s.file.shared && flag.Tag.Get(neverTag) != "" && where != flag.Tag.Get(settingTag) {
		s.faults = append(s.faults, fmt.Errorf("%s: the file may be read by others on this machine; "+
			"put it right with chmod o= %s, or keep the secret in a file of its own: %s-file", where, s.file.path, flag.Name))
	}
	scan := kong.Scan().PushTyped(value, kong.FlagValueToken)
	trial := reflect.New(flag.Target.Type()).Elem()
	if err := flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, trial); err != nil {
		s.faults = append(s.faults, fmt.Errorf("%s: %w", where, err))
		return nil, nil
	}
	return value, nil
}

// lookup returns a setting and where it was found, or "" for nowhere. An empty
// variable counts as none: that is how compose files pass what is not set.
func (s *sources) lookup(flag *kong.Flag) (value, where string) {
	if env := flag.Tag.Get(variableTag); env != "" && s.getenv(env) != "" {
		return s.getenv(env), env
	}
	env := flag.Tag.Get(settingTag)
	if env == "" {
		return "", ""
	}
	if value := s.getenv(env); value != "" {
		return value, env
	}
	if s.file != nil {
		if entry, ok := s.file.settings[flag.Name]; ok {
			return entry.value, fmt.Sprintf("%s:%d: %s", s.file.path, entry.line, flag.Name)
		}
	}
	return s.credential(flag)
}

// credential returns the file of a credential that systemd has handed over.
func (s *sources) credential(flag *kong.Flag) (path, where string) {
	name, dir := flag.Tag.Get(credentialTag), s.getenv(credentialsVariable)
	if name == "" || dir == "" {
		return "", ""
	}
	path = filepath.Join(dir, name)
	_, err := os.Stat(path)
	// A folder that cannot be entered has none: so systemd leaves it in containers
	// whose mounts are private.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return "", ""
	}
	return path, "the credential " + name
}

// where names a setting as the operator knows it.
func (s *sources) where(flag string) string {
	if from, ok := s.from[flag]; ok {
		return from
	}
	return "--" + flag
}
