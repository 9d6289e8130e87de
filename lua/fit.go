package lua

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// The formats of what is kept in Redis, each also a constant of the script that
// writes it. Data without a number is from before there were numbers.
const (
	zoneFormat   = 1 // of a zone's keys: FORMAT in include/zone.lua
	bookFormat   = 1 // of the policies: FORMAT in book.lua
	recordFormat = 1 // of an entry of a record of changes: ENTRY in include/record.lua and book.lua
)

// formatField is where a hash has the number of its format.
const formatField = "format"

// statusNewer is what the scripts return for a zone of a newer format.
const statusNewer = 4

// newer is the error for data of a format that this version does not know.
func newer(what string, known int) error {
	return fmt.Errorf("lua: %w: %s, and this version knows formats up to %d: "+
		"start the version that wrote it, or a later one", line.ErrFormat, what, known)
}

// checkFormat returns such an error unless the format, as Redis has it, is known.
func checkFormat(what string, format any, known int) error {
	text, ok := format.(string)
	if !ok {
		return nil // absent
	}
	if n, err := strconv.Atoi(text); err == nil && n <= known {
		return nil
	}
	return newer(what+" has format "+text, known)
}

// readEntry reads an entry of a record of changes.
func readEntry(of, text string, entry any) error {
	var head struct {
		Format int `json:"format"`
	}
	err := json.Unmarshal([]byte(text), &head)
	if err == nil && head.Format > recordFormat {
		return newer(fmt.Sprintf("the record of %s has format %d", of, head.Format), recordFormat)
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), entry)
	}
	if err != nil {
		return fmt.Errorf("lua: the record of %s is damaged: %w", of, err)
	}
	return nil
}

// misfits are the reasons why this server must not serve what is in the store, as
// they were found last.
type misfits struct{ zones, book, secrets misfit }

// misfit is one of them.
type misfit struct{ err atomic.Pointer[error] }

// is notes what was found, and reports whether that is new.
func (m *misfit) is(err error) bool {
	if err == nil {
		return m.err.Swap(nil) != nil
	}
	return m.err.Swap(&err) == nil
}

func (m *misfit) found() error {
	if err := m.err.Load(); err != nil {
		return *err
	}
	return nil
}

// finds notes a reason, or that it is no more. The log says so once.
func (s *Store) finds(m *misfit, err error) {
	switch changed := m.is(err); {
	case changed && err != nil:
		s.logger.Error("this server does not serve: it is not ready until that has changed", "err", err)
	case changed:
		s.logger.Info("what kept this server from serving is over")
	}
}

// unfit is why this server must not get traffic, if there is a reason.
func (s *Store) unfit() error {
	return errors.Join(s.misfits.secrets.found(), s.misfits.zones.found(), s.misfits.book.found())
}

// Strange returns an error that wraps line.ErrSecrets while servers that were here
// before have other secrets: visitors' tokens would seem invalid to this one. Else
// nil. It asks nothing of Redis.
func (s *Store) Strange() error { return s.misfits.secrets.found() }

// withUnknown is settings as JSON, with those of the kept text that this version does
// not know: a newer one has put them there, and has not gone for good.
func withUnknown(kept string, z zone.Settings) (string, error) {
	text, err := z.Kept()
	if err != nil {
		return "", fmt.Errorf("lua: %w", err)
	}
	if kept == "" {
		return string(text), nil
	}
	var unknown map[string]json.RawMessage
	if err := json.Unmarshal([]byte(kept), &unknown); err != nil {
		return "", fmt.Errorf("lua: a zone's settings are damaged: %w", err)
	}
	maps.DeleteFunc(unknown, func(name string, _ json.RawMessage) bool {
		return name == zone.IDName || zone.Table.Find(name) != nil
	})
	if len(unknown) == 0 {
		return string(text), nil
	}
	more, err := json.Marshal(unknown)
	if err != nil {
		return "", fmt.Errorf("lua: %w", err)
	}
	return strings.TrimSuffix(string(text), "}") + "," + strings.TrimPrefix(string(more), "{"), nil
}
