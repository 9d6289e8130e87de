package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The records that are no zone's. A zone's record has the zone's ID as its name, which has no colon.
const (
	Limits    = ":limits"    // changes of the policies of limits
	Operators = ":operators" // tokens and sessions of operators
	Refusals  = ":refusals"  // what was refused to somebody known: apart, so that no flood of them trims the others
)

const (
	// MaxEntries is how many entries a record has at most.
	MaxEntries = 10_000
	// PageSize is how many entries a store returns in one call: some 1 MB.
	PageSize = 1_000
	// OldestRead is how many of the oldest entries a Tail has: one change trims at most so many.
	OldestRead = 16
	// EntryFormat is the newest format of an entry. Entries of format 1, which version 0.1.0 wrote, have neither number nor seal.
	EntryFormat = 2
	// largeValue is the longest JSON of a setting, in bytes, that stands in an entry itself.
	largeValue = 1 << 10
)

// Tail is what a store reads of a record before it adds an entry.
type Tail struct {
	// Head is the sealed head, and Newest the text of the newest entry; "" for none.
	Head, Newest string
	// Oldest are the texts of the oldest entries, at most OldestRead, the oldest last. Length is how many entries there are.
	Oldest []string
	Length int
	// AtMillis is the time of the store: that of the entry.
	AtMillis int64
}

// Addition is what one change adds to a record. A store does all of it, or nothing.
type Addition struct {
	// Head is the sealed head that was read. If the record has another one, the store refuses.
	Head string `json:"head"`
	// Next is the new head, and Text the entry.
	Next string `json:"next"`
	Text string `json:"text"`
	// Texts are the large values that the entry refers to, by their SHA-256. N is the entry's number.
	Texts map[string]string `json:"texts"`
	N     int64             `json:"n"`
	// Keep is how many entries are kept, the new one included. Drop are the large values of those that are trimmed, which go
	// if no entry with a number above Upto refers to them.
	Keep int      `json:"keep"`
	Drop []string `json:"drop"`
	Upto int64    `json:"upto"`
}

// Page is a part of a record, as it is kept.
type Page struct {
	// Head is the record's sealed head, "" for none.
	Head string
	// Entries are texts of entries, the newest first, and Texts the large values that the entries refer to, by their SHA-256.
	Entries []string
	Texts   map[string]string
}

// entry is what a record knows of the text of an entry. The other members are whose the record is.
type entry struct {
	Format   int                        `json:"format"`
	N        int64                      `json:"n"`    // counts the entries of the record from 1; 0 in format 1
	Prev     string                     `json:"prev"` // the SHA-256 of the entry before; "" for none
	AtMillis int64                      `json:"at"`
	Was      map[string]json.RawMessage `json:"was"`
	Now      map[string]json.RawMessage `json:"now"`
}

// parse reads an entry. What cannot be read has no number, as if it had no seal.
func parse(text string) (e entry) {
	if json.Unmarshal([]byte(text), &e) != nil {
		return entry{}
	}
	return e
}

// reference stands in an entry for a value whose JSON is larger than largeValue.
type reference struct {
	SHA256 string `json:"sha256"`
	Length int    `json:"length"`
}

// referred returns the reference that a value is; ok is false if it is none.
func referred(value json.RawMessage) (r reference, ok bool) {
	return r, strings.HasPrefix(string(value), `{"sha256":`) && json.Unmarshal(value, &r) == nil && len(r.SHA256) == 2*sha256.Size
}

// SHA256 is the hash of a text, in hexadecimal digits.
func SHA256(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// References are the hashes of the large values that entries refer to, each once.
func References(entries ...string) (all []string) {
	for _, text := range entries {
		if !strings.Contains(text, `{"sha256":`) {
			continue
		}
		e := parse(text)
		for _, settings := range []map[string]json.RawMessage{e.Was, e.Now} {
			for _, value := range settings {
				if r, ok := referred(value); ok {
					all = append(all, r.SHA256)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Decode reads an entry of a page into v, with the large values in their places. A large value that is not there any more is left
// out. It returns an error for a text that is no such entry.
func (p Page) Decode(text string, v any) error {
	if len(References(text)) > 0 {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &members); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		e := parse(text)
		for name, settings := range map[string]map[string]json.RawMessage{"was": e.Was, "now": e.Now} {
			for key, value := range settings {
				if r, ok := referred(value); ok && p.Texts[r.SHA256] != "" {
					settings[key] = json.RawMessage(p.Texts[r.SHA256])
				} else if ok {
					delete(settings, key)
				}
			}
			if settings != nil {
				members[name], _ = json.Marshal(settings) // was JSON before
			}
		}
		whole, err := json.Marshal(members)
		if err != nil {
			return fmt.Errorf("audit: a large value: %w", err)
		}
		text = string(whole)
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// shrink puts references in the place of the large values of settings, and the values into texts.
func shrink(settings json.RawMessage, texts map[string]string) json.RawMessage {
	var values map[string]json.RawMessage
	if len(settings) <= largeValue || json.Unmarshal(settings, &values) != nil {
		return settings
	}
	for key, value := range values {
		if len(value) > largeValue {
			sum := SHA256(string(value))
			texts[sum] = string(value)
			values[key], _ = json.Marshal(reference{sum, len(value)}) // never fails
		}
	}
	shrunk, _ := json.Marshal(values) // was JSON before
	return shrunk
}

// Batch is what an entry of a record of the room says: changes that were made at one time.
type Batch[T any] struct {
	AtMillis int64 `json:"at"`
	Changes  []T   `json:"changes"`
}

// Verify reads all of a record by pages, as ReadWhole does, and checks it.
func (s *Sealer) Verify(record string, next func(skip int) (Page, error)) (Page, Check, error) {
	p, err := ReadWhole(next)
	if err != nil {
		return Page{}, Check{}, err
	}
	return p, s.Check(record, p), nil
}

// ReadWhole reads a whole record page by page. next returns the page after so many entries. If the record changes meanwhile, it
// begins anew, a few times.
func ReadWhole(next func(skip int) (Page, error)) (whole Page, err error) {
	const tries = 5
	for range tries {
		whole, err = next(0)
		for more := whole; err == nil && len(more.Entries) == PageSize; {
			if more, err = next(len(whole.Entries)); err != nil || more.Head != whole.Head {
				break
			}
			whole.Entries = append(whole.Entries, more.Entries...)
			maps.Copy(whole.Texts, more.Texts)
		}
		if err != nil {
			return Page{}, err
		}
		if now, err := next(len(whole.Entries)); err == nil && now.Head == whole.Head {
			return whole, nil
		}
	}
	return Page{}, ErrMoved
}

// ErrMoved says that a record has changed again and again while it was read.
var ErrMoved = errors.New("audit: the record changes while it is read: try again")
