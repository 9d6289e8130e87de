package audit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// DefaultKeep is how long an entry is kept at least, where nobody says.
const DefaultKeep = 90 * 24 * time.Hour

// Options of a Sealer.
type Options struct {
	// Secrets are the room's, the newest first: it seals, and all of them prove. Without any, the Sealer makes one for itself.
	Secrets [][]byte
	// Keep is how long an entry is kept. Zero: DefaultKeep.
	Keep time.Duration
	// Log gets a line for each entry. Nil: none.
	Log *slog.Logger
}

// Sealer seals the entries of records over the ones before, and checks records. Its methods may be called from any goroutine.
type Sealer struct {
	keys [][]byte
	keep time.Duration
	log  *slog.Logger

	mu sync.Mutex
	// seen is the newest head of each record that this process has written or checked.
	seen map[string]head
}

// head is what the latest change leaves beside a record, sealed: whoever takes out the newest entries cannot make the head
// of those that are left.
type head struct {
	N     int64  `json:"n"`     // the number of the newest entry
	Hash  string `json:"hash"`  // its SHA-256
	First int64  `json:"first"` // the number of the oldest entry that was not trimmed
	// Unproven is how many entries were trimmed that have no seal of a secret which the server had then.
	Unproven int64 `json:"unproven,omitempty"`
}

// What a seal is of.
const (
	ofEntry = "entry"
	ofHead  = "head"
)

// NewSealer makes a Sealer.
func NewSealer(o Options) *Sealer {
	s := &Sealer{keep: o.Keep, log: o.Log, seen: make(map[string]head)}
	if s.keep == 0 {
		s.keep = DefaultKeep
	}
	if len(o.Secrets) == 0 {
		secret := make([]byte, sha256.Size)
		_, _ = rand.Read(secret) // never fails
		o.Secrets = [][]byte{secret}
	}
	for _, secret := range o.Secrets {
		s.keys = append(s.keys, mac(secret, "record of changes"))
	}
	return s
}

// Keep is how long an entry is kept.
func (s *Sealer) Keep() time.Duration { return s.keep }

func mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	_, _ = m.Write([]byte(text)) // never fails
	return m.Sum(nil)
}

// sealMember begins the last member of a sealed text, a JSON object.
const sealMember = `,"seal":"`

// sealed returns a JSON object with its seal as the last member. The seal holds in this record alone.
func (s *Sealer) sealed(of, record string, object []byte) string {
	text := string(object[:len(object)-1])
	return text + sealMember + hex.EncodeToString(mac(s.keys[0], of+" "+record+"\n"+text)) + `"}`
}

// proven reports whether a secret of the room has sealed a text, for this record.
func (s *Sealer) proven(of, record, text string) bool {
	i := strings.LastIndex(text, sealMember)
	if i < 0 {
		return false
	}
	seal, err := hex.DecodeString(strings.TrimSuffix(text[i+len(sealMember):], `"}`))
	return err == nil && slices.ContainsFunc(s.keys, func(key []byte) bool {
		return hmac.Equal(seal, mac(key, of+" "+record+"\n"+text[:i]))
	})
}

// openHead reads a sealed head; ok is false if there is none, or no secret of the room has sealed it.
func (s *Sealer) openHead(record, text string) (h head, ok bool) {
	ok = s.proven(ofHead, record, text) && json.Unmarshal([]byte(text), &h) == nil
	return h, ok
}

// follows returns the head after which the next entry comes.
func (s *Sealer) follows(record string, t Tail) head {
	h, ok := s.openHead(record, t.Head)
	newest := parse(t.Newest)
	switch {
	case ok:
	case t.Newest == "":
		h = head{First: 1}
	case newest.N == 0: // of version 0.1.0
		h = head{Hash: SHA256(t.Newest), First: 1}
	default: // somebody took the head: without a hash, the break shows for good
		h = head{N: newest.N, First: parse(t.Oldest[len(t.Oldest)-1]).N}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if seen := s.seen[record]; seen.N > h.N { // entries were taken out, or the store has lost them: the gap shows
		h = seen
	}
	return h
}

// Compose makes the entry that says body, a JSON object without the members format, n, prev, at and seal, and says what of the record
// is trimmed. Settings in the members was and now are kept apart where they are large.
func (s *Sealer) Compose(record string, t Tail, body any) (a Addition, err error) {
	text, err := json.Marshal(body)
	var members map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(text, &members)
	}
	if err != nil {
		return a, fmt.Errorf("audit: %w", err)
	}
	h := s.follows(record, t)
	a = Addition{Head: t.Head, Texts: make(map[string]string), N: h.N + 1, Keep: t.Length + 1, Drop: []string{}}
	for name, value := range map[string]any{"format": EntryFormat, "n": a.N, "prev": h.Hash, "at": t.AtMillis} {
		members[name], _ = json.Marshal(value) // never fails
	}
	for _, name := range []string{"was", "now"} {
		if members[name] != nil {
			members[name] = shrink(members[name], a.Texts)
		}
	}
	text, _ = json.Marshal(members) // was JSON before
	a.Text = s.sealed(ofEntry, record, text)
	h = s.trim(record, t, h, &a)
	h.N, h.Hash = a.N, SHA256(a.Text)
	text, _ = json.Marshal(h) // never fails
	a.Next = s.sealed(ofHead, record, text)
	return a, nil
}

// trim says which of the oldest entries go: those that are too old, or too many.
func (s *Sealer) trim(record string, t Tail, h head, a *Addition) head {
	for _, text := range slices.Backward(t.Oldest) {
		e := parse(text)
		if a.Keep <= MaxEntries && e.AtMillis > t.AtMillis-s.keep.Milliseconds() {
			break
		}
		a.Keep--
		a.Drop, a.Upto = append(a.Drop, References(text)...), max(a.Upto, e.N)
		if e.N > 0 && !s.proven(ofEntry, record, text) {
			h.Unproven++
		}
		h.First = max(h.First, min(e.N, h.N)+1)
	}
	return h
}

// Added is called when a store has made an addition.
func (s *Sealer) Added(record string, a Addition) {
	h, _ := s.openHead(record, a.Next)
	s.see(record, h)
	if s.log != nil {
		s.log.Info("recorded", "record", record, "n", a.N, "sha256", h.Hash, "entry", json.RawMessage(a.Text))
	}
}

// see notes a head, unless a newer one was seen, and returns the newest.
func (s *Sealer) see(record string, h head) head {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.N > s.seen[record].N {
		s.seen[record] = h
	}
	return s.seen[record]
}
