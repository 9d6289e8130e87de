package lua

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/openqueue/waitingroom/internal/line"
)

// The formats of what is kept in Redis, each also a constant of the script that
// writes it; audit.EntryFormat is that of an entry of a record.
const (
	zoneFormat     = 2 // of a zone's keys: FORMAT in line/include/zone.lua
	documentFormat = 1 // of a document: FORMAT in limits/put_document.lua
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

// marshal is what is kept of something, as JSON.
func marshal(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("lua: %w", err)
	}
	return string(text), nil
}
