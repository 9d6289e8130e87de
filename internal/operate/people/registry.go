package people

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/serve/route"
)

const (
	// readEvery is how often the document is read: twice within the second in which a change must be in force everywhere.
	readEvery = 500 * time.Millisecond
	// maxTries bounds how often a change is tried because another one came first.
	maxTries = 5
	// TokenPrefix begins every token, so that scanners of secrets find it.
	TokenPrefix = "qs_"
	// tokenBytes are the random bytes of a token, and idDigits how many digits of its hash name it.
	tokenBytes = 32
	idDigits   = 10
	// MaxTokens bounds the tokens of a room: their document has some 250 bytes each, and every server reads it twice a second.
	MaxTokens = 500
	// MaxAge is the longest that a token can be good for.
	MaxAge = 365 * 24 * time.Hour
)

// ErrUnknown says that there is no such token. Compare with errors.Is.
var ErrUnknown = refusal.New("people: token unknown", refusal.Refusal{
	Status: http.StatusNotFound, Code: "token_unknown",
	Title: "There is no such token", Detail: "GET /admin/tokens lists the tokens that are good.", Readers: refusal.Operators,
	Doc: "No token that is good has this id or name.",
})

// ErrConflict says that others changed the tokens each time that this change was about to be made. Nothing was changed.
var ErrConflict = refusal.New("people: the tokens are being changed by others", refusal.Conflict)

// names are the names that a token can have: they go into paths and the record.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$`)

// Options of a Registry. Store, Secrets and Logger are required.
type Options struct {
	Store line.Keeper
	// Secrets sign the document and the sessions, newest first.
	Secrets [][]byte
	// Root are tokens that may do everything; none where that is off. Another one ends all sessions that were begun with it.
	Root   []string
	Logger *slog.Logger
	// Now defaults to time.Now.
	Now func() time.Time
}

// Registry knows the tokens and what has ended. Its methods may be called from any goroutine.
type Registry struct {
	Options
	bookKeys [][]byte
	signing  jwt.VerificationKeySet
	// roots are the hashes of Root, and rootIDs name them in sessions.
	roots   [][sha256.Size]byte
	rootIDs []string

	mu sync.Mutex
	// book is what is in force, byHash its tokens by their hashes. read: the store was read once since begun.
	book   book
	read   bool
	begun  time.Time
	byHash map[string]Issued
	// pending are events that the store's record lacks yet, and refused when each refusal was last noted.
	pending []audit.Event
	refused map[string]time.Time
	// used has the day of the latest use of each token, by its ID, as this server knows it.
	used map[string]string
	// failed is why the store was not read lately, unkept whether it lacks something of the book.
	failed error
	unkept bool

	// writing is held while the store and this server are brought together, so that each event is written once.
	writing sync.Mutex
	reading background.Group
}

// New returns a Registry that knows of no token until Start.
func New(o Options) *Registry {
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Registry{Options: o, bookKeys: keysOf(bookLabel, o.Secrets), signing: Keys(sessionLabel, o.Secrets), used: make(map[string]string), refused: make(map[string]time.Time), begun: o.Now().Truncate(time.Second)}
	for _, root := range o.Root {
		r.roots = append(r.roots, sha256.Sum256([]byte(root)))
		for _, key := range keysOf(sessionLabel+" root", o.Secrets) {
			// The secret is in it: who steals a cookie cannot try tokens on it.
			r.rootIDs = append(r.rootIDs, hex.EncodeToString(mac(key, []byte(root)))[:2*idDigits])
		}
	}
	return r
}

// Start reads the document once, and then in the background until Stop. It signs one that an older secret has signed anew: when
// all servers have started with the newest secret first, the older one can go.
func (r *Registry) Start(ctx context.Context) {
	r.runOnce(ctx)
	if d, err := r.Store.Document(ctx, audit.Operators); err == nil && r.failed == nil {
		if _, err := openBook(d, r.bookKeys[:1]); err != nil {
			_ = r.sync(ctx, func(*book) (audit.Event, error) { return audit.Event{}, nil }) // any later change does it
		}
	}
	r.reading.Start(ctx, background.Every(readEvery, r.runOnce))
}

// Stop ends what Start began, and waits for it.
func (r *Registry) Stop() { r.reading.Stop() }

// runOnce reads the document. It logs when that begins to fail, and when it works again.
func (r *Registry) runOnce(ctx context.Context) {
	err := r.sync(ctx, nil)
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	before := r.failed
	r.failed = err
	r.mu.Unlock()
	switch {
	case errors.Is(err, errForged) && !errors.Is(before, errForged):
		r.Logger.Error("SOMEBODY WROTE OPERATORS' CREDENTIALS INTO THE STORE, or it is another room's", "error", err)
	case err != nil && before == nil:
		r.Logger.Warn("the operators' tokens cannot be read from the store; going on with those remembered", "error", err)
	case err == nil && before != nil:
		r.Logger.Info("the operators' tokens can be read from the store again")
	}
}

// sync brings this server and the store together, and makes an edit, if one is given. A document that is not signed is replaced
// by an edit alone. What the edit returns and what is pending goes into the record with it.
func (r *Registry) sync(ctx context.Context, edit func(*book) (audit.Event, error)) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	for range maxTries {
		d, err := r.Store.Document(ctx, audit.Operators)
		if err != nil {
			return fmt.Errorf("people: %w", err)
		}
		found, err := openBook(d, r.bookKeys)
		if err != nil && edit == nil {
			return err
		} else if err != nil {
			found = book{}
		}
		r.mu.Lock()
		next, events := merged(found, r.book, r.used, r.Now()), slices.Clone(r.pending)
		r.mu.Unlock()
		if next.Version == 0 { // nobody knows what there was
			next.SinceMillis = r.begun.UnixMilli()
		}
		written := len(events)
		if edit != nil {
			did, err := edit(&next)
			if err != nil {
				return err
			}
			if did.Did != "" {
				events = append(events, did)
			}
			next.tidy(r.Now())
		}
		if edit == nil && next.equal(found) && written == 0 {
			r.adopt(next)
			return nil
		}
		next.Version = max(next.Version, d.Version) + 1
		sealed, err := next.seal(r.bookKeys)
		if err != nil {
			return err
		}
		others, refusals := audit.SplitRefusals(events)
		notes := append(line.NoteOf(audit.Operators, others), line.NoteOf(audit.Refusals, refusals)...)
		switch err := r.Store.PutDocument(ctx, audit.Operators, sealed, d.Version, notes...); {
		case err == nil:
			r.mu.Lock()
			r.pending = r.pending[written:]
			r.mu.Unlock()
			r.adopt(next)
			return nil
		case !errors.Is(err, line.ErrDocumentChanged):
			return fmt.Errorf("people: %w", err)
		}
	}
	return ErrConflict
}

// adopt puts a document into force, unless a newer one is.
func (r *Registry) adopt(b book) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = true
	if b.Version < r.book.Version {
		return
	}
	r.unkept = slices.ContainsFunc(r.book.Ended, func(e ended) bool {
		return e.UntilMillis > r.Now().UnixMilli() && !slices.Contains(b.Ended, e)
	})
	if r.unkept { // it was ended while the document was read
		b = merged(b, r.book, r.used, r.Now())
	}
	r.use(b)
}

// use is for a caller who holds mu.
func (r *Registry) use(b book) {
	r.book, r.byHash = b, make(map[string]Issued, len(b.Tokens))
	for _, k := range b.Tokens {
		if !b.over(k.ID) {
			r.byHash[k.Hash] = k.Issued
		}
	}
	maps.DeleteFunc(r.used, func(id, _ string) bool {
		return !slices.ContainsFunc(b.Tokens, func(k kept) bool { return k.ID == id })
	})
}

// NotKept returns nil if the store has all that is in force here, else why not.
func (r *Registry) NotKept() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.unkept:
		return nil
	case r.failed != nil:
		return fmt.Errorf("a revocation or log out is not in the store yet: %w", r.failed)
	}
	return errors.New("a revocation or log out is not in the store yet")
}

// Identify returns whose token it is; a stranger's false. The comparison with the root token takes the same time whatever was
// sent. The others are found by their hashes, of which nobody can choose one.
func (r *Registry) Identify(token string) (Identity, bool) {
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i, root := range r.roots {
		if subtle.ConstantTimeCompare(sum[:], root[:]) == 1 {
			found = i
		}
	}
	if found >= 0 {
		return rootIdentity("", r.rootIDs[found*len(r.Secrets)]), true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.byHash[hex.EncodeToString(sum[:])]
	return r.good(t, ok)
}

// good is the identity of a token, if it is still good. It notes the day. It is for a caller who holds mu.
func (r *Registry) good(t Issued, ok bool) (Identity, bool) {
	now := r.Now()
	if !ok || t.ExpiresAt <= now.UnixMilli() {
		return Identity{}, false
	}
	r.used[t.ID] = now.UTC().Format(time.DateOnly)
	return Identity{Name: t.Name, Proof: audit.Token, ID: t.ID, Grants: []Grant{{t.Role, t.Zones}}}, true
}

// Tokens returns all tokens that are good, in the order of their names.
func (r *Registry) Tokens() []Issued {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Issued, 0, len(r.byHash))
	for _, t := range r.byHash {
		if t.ExpiresAt > r.Now().UnixMilli() {
			t.UsedOn = max(t.UsedOn, r.used[t.ID])
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b Issued) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.MadeAt, b.MadeAt), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// Wanted is a token that is to be made.
type Wanted struct {
	Name          string     `json:"name" yaml:"name" required:"body" pattern:"^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$" doc:"Who gets the token." example:"anna"`
	Role          route.Role `json:"role" yaml:"role" required:"body" doc:"What the token is to allow." example:"operator"`
	Zones         []string   `json:"zones,omitempty" yaml:"zones" maxItems:"32" maxLength:"64" doc:"Patterns of zones, with * for any text. All zones when absent." example:"[SHOP, SALE-*]"`
	ExpireSeconds int64      `json:"expireSeconds" yaml:"expireSeconds" minimum:"60" maximum:"31536000" default:"7776000" doc:"How long the token is good, in seconds: 365 days at most." example:"7776000"`
}

// DefaultAge is how long a token is good where nobody says: a quarter of a year.
const DefaultAge = 90 * 24 * time.Hour

// check returns all that is wrong with what is wanted, as a *serve.InvalidError.
func (w *Wanted) check() error {
	var faults []string
	if !names.MatchString(w.Name) || w.Name == RootName {
		faults = append(faults, "name must be 1 to 64 of A-Z a-z 0-9 . _ @ + -, begin with a letter or a digit, and not be root")
	}
	if !slices.Contains(route.Roles, w.Role) {
		faults = append(faults, "role must be viewer, operator or admin")
	}
	if fault := CheckZones(w.Zones); fault != "" {
		faults = append(faults, "zones "+fault)
	}
	w.ExpireSeconds = cmp.Or(w.ExpireSeconds, int64(DefaultAge/time.Second))
	if w.ExpireSeconds < 60 || w.ExpireSeconds > int64(MaxAge/time.Second) {
		faults = append(faults, fmt.Sprintf("expireSeconds is %d, must be between 60 and 31536000", w.ExpireSeconds))
	}
	if faults != nil {
		return &serve.InvalidError{Faults: faults}
	}
	if slices.Contains(w.Zones, "*") {
		w.Zones = nil
	}
	return nil
}

// Create makes a token and returns it with what is known of it. Nobody can read the token again. The error is a
// *serve.InvalidError, or one of the store: then there is no token.
func (r *Registry) Create(ctx context.Context, w Wanted, maker audit.By) (token string, made Issued, err error) {
	if err := w.check(); err != nil {
		return "", Issued{}, err
	}
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // never fails
	token = TokenPrefix + base64.RawURLEncoding.EncodeToString(random)
	sum := sha256.Sum256([]byte(token))
	hash, now := hex.EncodeToString(sum[:]), r.Now()
	made = Issued{
		ID: hash[:idDigits], Name: w.Name, Role: w.Role, Zones: append([]string{}, w.Zones...), Maker: maker.Who(), MadeAt: now.UnixMilli(),
		ExpiresAt: now.UnixMilli() + w.ExpireSeconds*1000,
	}
	err = r.sync(ctx, func(b *book) (did audit.Event, err error) {
		if len(b.Tokens) >= MaxTokens {
			return did, &serve.InvalidError{Faults: []string{fmt.Sprintf("there are %d tokens, and may be no more: revoke some", MaxTokens)}}
		}
		b.Tokens = append(b.Tokens, kept{made, hash})
		return audit.Event{By: maker, Did: "created token", To: strings.Join(slices.Concat([]string{made.Name, made.ID, string(made.Role)}, made.Zones), " ")}, nil
	})
	if err != nil {
		return "", Issued{}, err
	}
	r.Logger.InfoContext(ctx, "operator's token made", "id", made.ID, "name", made.Name, "role", made.Role, "zones", made.Zones, "by", maker.Who(), "how", maker.How())
	return token, made, nil
}

// Revoke ends the token of that ID, or all tokens of that name, and their sessions. It returns ErrUnknown if there is none. The
// end is in force on this server at once, also while the store is away: NotKept says so then.
func (r *Registry) Revoke(ctx context.Context, name string, by audit.By) error {
	err := r.sync(ctx, nil) // another server may have made it just now
	r.mu.Lock()
	now, found := r.Now().UnixMilli(), 0
	for _, k := range slices.Clone(r.book.Tokens) {
		if k.ID == name || k.Name == name {
			r.end(ended{ID: k.ID, AtMillis: now, UntilMillis: k.ExpiresAt})
			r.note(by, "revoked token", k.Name+" "+k.ID)
			found++
		}
	}
	r.mu.Unlock()
	if found == 0 && err != nil {
		return err
	} else if found == 0 {
		return ErrUnknown
	}
	r.Logger.InfoContext(ctx, "operator's token revoked", "token", name, "tokens", found, "by", by.Who(), "how", by.How())
	r.runOnce(ctx)
	return nil
}

// end puts an end into force here. It is for a caller who holds mu.
func (r *Registry) end(e ended) {
	b := r.book.clone()
	b.Ended = append(b.Ended, e)
	b.Tokens = slices.DeleteFunc(b.Tokens, func(k kept) bool { return b.over(k.ID) })
	r.unkept = true
	r.use(b)
}

const (
	// refusedEvery is how often a refusal of the same call to the same person is recorded, and maxPending bounds how many entries
	// wait for a store that is away.
	refusedEvery = time.Minute
	maxPending   = 100
)

// Refused records that somebody who is known was refused a call, at most once a minute for each call.
func (r *Registry) Refused(by audit.By, call string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	maps.DeleteFunc(r.refused, func(_ string, at time.Time) bool { return now.Sub(at) >= refusedEvery })
	key := string(by.Proof) + " " + by.ProofID + " " + by.Name + " " + call
	if _, noted := r.refused[key]; by.Proof == "" || noted || len(r.refused) >= maxPending {
		return
	}
	r.refused[key] = now
	r.note(by, audit.Refused, call)
}

// note has an entry written with the next reading of the store. It is for a caller who holds mu.
func (r *Registry) note(by audit.By, did, to string) {
	if len(r.pending) < maxPending {
		r.pending = append(r.pending, audit.Event{By: by, Did: did, To: to})
	}
}

// Note records what somebody did that changes no setting.
func (r *Registry) Note(ctx context.Context, by audit.By, did, to string) {
	r.mu.Lock()
	r.note(by, did, to)
	r.mu.Unlock()
	r.runOnce(ctx)
}

// Events returns the latest entries of the operators' record, at most so many, the newest first.
func (r *Registry) Events(ctx context.Context, most int) ([]audit.Event, error) {
	var all []audit.Event
	for _, record := range []string{audit.Refusals, audit.Operators} {
		some, err := line.Noted(ctx, r.Store, record, func(e *audit.Event, at int64) { e.AtMillis = at })
		if err != nil {
			return nil, fmt.Errorf("people: %w", err)
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b audit.Event) int { return cmp.Compare(b.AtMillis, a.AtMillis) })
	return all[:min(len(all), most)], nil
}
