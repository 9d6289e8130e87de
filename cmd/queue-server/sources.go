package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/openqueue/waitingroom/internal/operate/cli"
	"github.com/openqueue/waitingroom/internal/operate/configfile"
	"github.com/openqueue/waitingroom/internal/serve/strictyaml"
)

// The tags of a setting, and under the same names the annotations of its flag.
const (
	// settingTag names its environment variable, which names its flag, and its key in
	// the file: QUEUE_ADMIN_ADDR is --admin-addr, and admin-addr.
	settingTag = "setting"
	// neverTag (flag:"never") marks what is a secret: a key of the file and a variable, and refused
	// on the command line.
	neverTag = "never"
)

// everybodyReads says why a secret is refused on the command line.
const everybodyReads = "what is on a command line, everybody on the machine can read"

// prefix is that of all our variables.
const prefix = "QUEUE_"

// configFlag names the file; a file cannot name itself.
const configFlag = "config"

// flagOf returns the name of the flag, and the key in the file, of a variable.
func flagOf(variable string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, prefix)), "_", "-")
}

// settingNames are the settings that a file may hold.
func settingNames() []string {
	var names []string
	for field := range reflect.TypeFor[settings]().Fields() {
		if name := flagOf(field.Tag.Get(settingTag)); name != configFlag {
			names = append(names, name)
		}
	}
	return names
}

// misspelt returns the variables of an environment, each as NAME=value, that are no setting but have nearly the name of one, with
// the variable that may be meant. It leaves out others with the prefix: Kubernetes makes QUEUE_PORT for a service named queue.
func misspelt(environment []string) map[string]string {
	known := append(settingNames(), configFlag)
	meant := make(map[string]string)
	for _, entry := range environment {
		variable, _, _ := strings.Cut(entry, "=")
		name := flagOf(variable)
		if !strings.HasPrefix(variable, prefix) || slices.Contains(known, name) || slices.Contains(cli.Variables, variable) {
			continue
		}
		if nearest := strictyaml.Nearest(name, known); nearest != "" {
			meant[variable] = prefix + strings.ReplaceAll(strings.ToUpper(nearest), "-", "_")
		}
	}
	return meant
}

// addFlags gives a command a flag for each field of the struct that settings points to.
func addFlags(command *cobra.Command, settings any) {
	flags := command.Flags()
	for field, v := range reflect.ValueOf(settings).Elem().Fields() {
		variable, help := field.Tag.Get(settingTag), field.Tag.Get("help")
		name := flagOf(variable)
		help += " ($" + variable + ")"
		switch target := v.Addr().Interface().(type) {
		case *string:
			flags.StringVar(target, name, "", help)
		case *[]string:
			// A default that is set by Value.Set would stay before what is set.
			var list []string
			if text := field.Tag.Get("default"); text != "" {
				list = strings.Split(text, ",")
			}
			flags.StringSliceVar(target, name, list, help)
		case *int64:
			flags.Int64Var(target, name, 0, help)
		case *time.Duration:
			flags.DurationVar(target, name, 0, help)
		}
		flag := flags.Lookup(name)
		flag.Annotations = map[string][]string{settingTag: {variable}}
		if flag.DefValue = field.Tag.Get("default"); flag.DefValue != "" && flag.Value.Type() != "stringSlice" {
			_ = flag.Value.Set(flag.DefValue) // TestDefaults reads them all
		}
		if placeholder := field.Tag.Get("placeholder"); placeholder != "" {
			flag.Value = namedValue{flag.Value, placeholder}
			if strings.HasPrefix(placeholder, "FILE") {
				cli.CompleteFiles(command, name)
			}
		}
		if field.Tag.Get("flag") == neverTag {
			flag.Hidden, flag.Annotations[neverTag] = true, nil
		}
	}
}

// namedValue is a value whose help says what kind of text it is.
type namedValue struct {
	pflag.Value
	kind string
}

// Type implements pflag.Value.
func (v namedValue) Type() string { return v.kind }

// sources gives settings that are not on the command line their values: from the
// environment, else from the file, else the default.
type sources struct {
	getenv func(string) string
	// file is empty where none is named.
	file *configfile.File
	// from says where the value of a flag comes from, for what is on neither
	// the command line nor the list of defaults.
	from map[string]string
}

func newSources(getenv func(string) string) *sources {
	return &sources{getenv: getenv, file: &configfile.File{}, from: make(map[string]string)}
}

// fill gives the flags that were parsed, and are not set, their values. The error
// lists all that is wrong with the environment and the file.
func (s *sources) fill(flags *pflag.FlagSet) error {
	path := flags.Lookup(configFlag)
	if value, where := s.lookup(path); !path.Changed && where != "" {
		s.from[configFlag] = where
		_ = path.Value.Set(value) // any text is one
	}
	if name := path.Value.String(); name != "" {
		file, err := configfile.Read(name, settingNames())
		if err != nil {
			return cli.UsageError{Err: err}
		}
		s.file = file
	}
	var faults []error
	flags.VisitAll(func(f *pflag.Flag) {
		if err := s.fillOne(f); err != nil {
			faults = append(faults, err)
		}
	})
	if err := errors.Join(faults...); err != nil {
		return cli.UsageError{Err: err}
	}
	return nil
}

func (s *sources) fillOne(f *pflag.Flag) error {
	_, never := f.Annotations[neverTag]
	if f.Changed {
		if !never {
			return nil
		}
		variable := f.Annotations[settingTag][0]
		return fmt.Errorf("--%s is no flag: %s. Set %s, or name a file with --%s-file or %s_FILE; "+
			"and make another secret: somebody may have read this one", f.Name, everybodyReads, variable, f.Name, variable)
	}
	value, where := s.lookup(f)
	if where == "" || f.Name == configFlag {
		return nil
	}
	s.from[f.Name] = where
	if never && s.file.Shared && where != f.Annotations[settingTag][0] {
		return fmt.Errorf("%s: the file may be read by others on this machine; "+
			"put it right with chmod o= %s, or keep the secret in a file of its own: %s-file", where, s.file.Path, f.Name)
	}
	if err := f.Value.Set(value); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return nil
}

// lookup returns a setting and where it was found, or "" for nowhere. An empty
// variable counts as none: that is how compose files pass what is not set.
func (s *sources) lookup(f *pflag.Flag) (value, where string) {
	variable, ok := f.Annotations[settingTag]
	if !ok {
		return "", "" // --help
	}
	if value := s.getenv(variable[0]); value != "" {
		return value, variable[0]
	}
	if entry, ok := s.file.Settings[f.Name]; ok {
		return entry.Value, fmt.Sprintf("%s:%d: %s", s.file.Path, entry.Line, f.Name)
	}
	return "", ""
}

// where names a setting as the operator knows it.
func (s *sources) where(flag string) string {
	if from, ok := s.from[flag]; ok {
		return from
	}
	return "--" + flag
}
