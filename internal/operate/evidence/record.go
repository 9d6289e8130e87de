package evidence

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/admissionlog"
)

// Change is an entry of the record of changes. Of the settings the whole text is kept for the bundle; who made the change from which
// address is not.
type Change struct {
	At    int64           `json:"at"`
	Zone  string          `json:"zoneId"`
	By    string          `json:"by"`
	Proof string          `json:"proof,omitempty"`
	Was   json.RawMessage `json:"was"`
	Now   json.RawMessage `json:"now"`
	// N is the entry's number, Prev the SHA-256 of the entry before. Findings are what is wrong with it, or beside it.
	N        int64     `json:"n,omitempty"`
	Prev     string    `json:"prev,omitempty"`
	Findings []Finding `json:"findings,omitempty"`

	was, now *limits
}

// limits are those of the settings that say who may enter; nil of a zone that is not there.
type limits struct {
	admissionlog.Settings
	Pilot    string          `json:"pilot"`
	PilotMin int64           `json:"pilotMin"`
	PilotMax int64           `json:"pilotMax"`
	SoldOut  json.RawMessage `json:"soldOut"`
	Events   []struct {
		Name       string     `json:"name"`
		PreQueueAt *time.Time `json:"preQueueAt"`
		OpensAt    time.Time  `json:"opensAt"`
		EndsAt     *time.Time `json:"endsAt"`
	} `json:"events"`
}

// parse reads the limits.
func (c *Change) parse() error {
	if err := errors.Join(json.Unmarshal(c.Was, &c.was), json.Unmarshal(c.Now, &c.now)); err != nil {
		return fmt.Errorf("evidence: the record: %w", err)
	}
	for _, l := range []*limits{c.was, c.now} {
		if l != nil && len(l.SoldOut) > len(`""`) { // of text or texts by language
			l.PerMinute, l.Mode = 0, "closed"
		}
	}
	return nil
}

func (c *Change) find(verdict, format string, args ...any) {
	c.Findings = append(c.Findings, Finding{verdict, fmt.Sprintf(format, args...)})
}

// export is a record as queue-server audit export writes it, the newest entry first, with the faults that the server found. Changes are
// what queue-server audit --json prints in the place of all that: without seals.
type export struct {
	Changes  []Change `json:"changes"`
	Exported []struct {
		Text  string `json:"text"`
		Fault string `json:"fault"`
	} `json:"exported"`
	Texts  map[string]string `json:"texts"`
	Faults []struct {
		What string `json:"what"`
	} `json:"faults"`
}

// ReadRecord reads the entries of a zone from the record in JSON, and orders them, the oldest first. Each exported entry has the SHA-256 of the
// one before, and a seal: an HMAC by the room's secrets, which are checked if secrets are given.
func ReadRecord(text []byte, zoneID string, secrets ...[]byte) ([]Change, error) {
	var doc export
	err := json.Unmarshal(text, &doc)
	if err == nil && len(doc.Exported) > 0 {
		doc.Changes, err = doc.verify(zoneID, secrets)
	}
	if err != nil {
		return nil, fmt.Errorf("evidence: the record: %w", err)
	}
	all := slices.DeleteFunc(doc.Changes, func(c Change) bool { return c.Zone != zoneID })
	for i := range all {
		if err := all[i].parse(); err != nil {
			return nil, err
		}
	}
	slices.Reverse(all) // entries of the same time stay in their order
	slices.SortStableFunc(all, func(a, b Change) int { return int(a.At - b.At) })
	return all, nil
}

// verify walks from the newest entry to the oldest. An entry is proven by its seal, or by the hash that a later one has of it. Secrets that have
// sealed no entry are another room's: they prove nothing.
func (e *export) verify(zoneID string, secrets [][]byte) (all []Change, err error) {
	var later Change
	stranger := true
	for _, x := range e.Exported {
		stranger = stranger && !sealed(zoneID, x.Text, secrets)
	}
	if stranger = stranger && len(secrets) > 0; stranger {
		secrets = nil
	}
	proven, faults := false, map[string]bool{}
	for _, x := range e.Exported {
		var c Change
		if err := json.Unmarshal([]byte(x.Text), &c); err != nil {
			return nil, err
		}
		c.Findings = nil // whoever wrote the entry has no say in them
		hash := sum(x.Text)
		proven = proven && later.Prev == hash || sealed(zoneID, x.Text, secrets)
		if later.N > c.N+1 {
			c.find(Unproved, "entries %d to %d are missing: they were taken out, or the store has lost them", c.N+1, later.N-1)
		}
		switch {
		case len(secrets) > 0 && c.N > 0 && !proven:
			c.find(Tampered, "entry %d, of %s, is not as a server with this secret sealed it: it was changed, or put in", c.N, clock(c.At))
		case later.N <= c.N+1 && later.Prev != "" && later.Prev != hash:
			c.find(Tampered, "entry %d, of %s, is not the one over which entry %d was sealed: one of them was changed", c.N, clock(c.At), later.N)
		}
		if faults[x.Fault] = true; x.Fault != "" {
			c.find(Tampered, "the server that exported it found: %s", x.Fault)
		}
		c.Was, c.Now = e.whole(&c, c.Was), e.whole(&c, c.Now)
		all = append(all, c)
		later = c
	}
	for _, f := range e.Faults {
		if !faults[f.What] { // of no entry that is there
			all[0].find(Unproved, "the server that exported it found: %s", f.What)
		}
	}
	if stranger {
		all[0].find(Unproved, "no entry is sealed with the secret that was given: it is another room's, it was rotated since, or all entries were written anew")
	}
	return all, nil
}

// whole puts large settings in the places of their hashes.
func (e *export) whole(c *Change, settings json.RawMessage) json.RawMessage {
	var values map[string]json.RawMessage
	if json.Unmarshal(settings, &values) != nil || values == nil {
		return settings
	}
	for key, value := range values {
		var is struct {
			SHA256 string `json:"sha256"`
		}
		if json.Unmarshal(value, &is) != nil || is.SHA256 == "" {
			continue
		}
		text := e.Texts[is.SHA256]
		if values[key] = json.RawMessage(text); sum(text) != is.SHA256 {
			values[key] = json.RawMessage("null")
			c.find(Tampered, "the setting %s of entry %d was changed or taken out", key, c.N)
		}
	}
	text, _ := json.Marshal(values) // it was JSON before
	return text
}

func sum(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])
}

// sealed reports whether one of the secrets sealed an entry for the zone. The seal is the last member, an HMAC-SHA-256 of the text before it;
// its key is an HMAC, too.
func sealed(zoneID, text string, secrets [][]byte) bool {
	i := max(0, strings.LastIndex(text, `,"seal":"`))
	return slices.ContainsFunc(secrets, func(secret []byte) bool {
		key := hmac.New(sha256.New, secret)
		key.Write([]byte("record of changes"))
		seal := hmac.New(sha256.New, key.Sum(nil))
		seal.Write([]byte("entry " + zoneID + "\n" + text[:i]))
		return text[i:] == `,"seal":"`+hex.EncodeToString(seal.Sum(nil))+`"}`
	})
}
