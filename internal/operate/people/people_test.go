package people

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/route"
)

const rootToken = "the-root-token-of-tests"

// maker is who makes changes.
var maker = audit.By{Name: "root", Proof: audit.Root}

var (
	oldSecret = []byte("the old secret, of 32 bytes or so")
	newSecret = []byte("the new secret, of 32 bytes or so")
)

// keeper is a store that can be away.
type keeper struct {
	line.Keeper
	away error
}

func (k *keeper) Document(ctx context.Context, name string) (line.Document, error) {
	if k.away != nil {
		return line.Document{}, k.away
	}
	return k.Keeper.Document(ctx, name)
}

func (k *keeper) PutDocument(ctx context.Context, name string, d line.Document, was int64, notes ...line.Note) error {
	if k.away != nil {
		return k.away
	}
	return k.Keeper.PutDocument(ctx, name, d, was, notes...)
}

// fixture is a store, and a clock that is moved by hand.
type fixture struct {
	*testing.T
	*keeper
	at time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, at: time.Unix(1_795_000_000, 0)}
	f.keeper = &keeper{Keeper: f.empty()}
	return f
}

// empty is a store that has lost everything.
func (f *fixture) empty() line.Keeper {
	s, err := embedded.Open(embedded.Options{Now: f.now})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	return s
}

func (f *fixture) now() time.Time { return f.at }

// server is another server of the store; with no secrets named, of the room's.
func (f *fixture) server(secrets ...[]byte) *Registry {
	if len(secrets) == 0 {
		secrets = [][]byte{newSecret, oldSecret}
	}
	r := New(Options{Store: f.keeper, Secrets: secrets, Root: []string{rootToken}, Logger: slog.New(slog.DiscardHandler), Now: f.now})
	r.runOnce(f.Context())
	return r
}

// make makes a token, and has the other servers look.
func (f *fixture) make(r *Registry, w Wanted, others ...*Registry) string {
	f.Helper()
	token, _, err := r.Create(f.Context(), w, maker)
	if err != nil {
		f.Fatal(err)
	}
	f.look(others...)
	return token
}

func (f *fixture) look(servers ...*Registry) {
	for _, r := range servers {
		r.runOnce(f.Context())
	}
}

func (f *fixture) opens(r *Registry, token string, want bool) {
	f.Helper()
	if who, ok := r.Identify(token); ok != want || ok != (who.Proof != "") {
		f.Errorf("identified %+v, %v; want %v", who, ok, want)
	}
}

var anna = Wanted{Name: "anna", Role: route.Operator, Zones: []string{"SHOP", "SALE-*"}, ExpireSeconds: 3600}

// TestTokenIsGoodUntilItEnds: on every server from the next reading on, while the store is away, and after a restart.
func TestTokenIsGoodUntilItEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, other := f.server(), f.server()
	token := f.make(one, anna, other)
	if !strings.HasPrefix(token, TokenPrefix) || len(token) != len(TokenPrefix)+43 {
		t.Errorf("the token is %q", token)
	}
	who, ok := other.Identify(token)
	if !ok || who.Name != "anna" || !who.MaySomewhere(route.Operator) || who.MaySomewhere(route.Admin) || who.Proof != audit.Token {
		t.Errorf("identified %+v, %v", who, ok)
	}
	f.opens(other, token+"A", false)
	f.opens(other, "", false)
	f.opens(f.server(), token, true)           // one that has just been started
	f.opens(f.server(oldSecret), token, false) // signed with the new secret
	if d, err := f.Document(t.Context(), audit.Operators); err != nil || strings.Contains(d.Text, token) {
		t.Errorf("the store has the token: %v", err)
	}
	f.away = line.ErrStoreUnavailable
	f.look(one, other)
	f.opens(other, token, true)
	f.at = f.at.Add(time.Hour)
	f.opens(other, token, false)
}

// TestRevocation holds within a reading on every server; on this one at once, also while the store is away; and through a loss of the
// store's data, and whatever older document somebody puts there.
func TestRevocation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, other := f.server(), f.server()
	token, second := f.make(one, anna, other), f.make(one, anna, other)
	machine := f.make(one, Wanted{Name: "ci", Role: route.Admin}, other)
	older, _ := f.Document(t.Context(), audit.Operators)
	id, _ := one.Identify(second)
	if err := one.Revoke(t.Context(), id.ID, maker); err != nil {
		t.Fatal(err)
	}
	f.look(other)
	f.opens(other, second, false)
	f.opens(other, token, true)

	f.away = line.ErrStoreUnavailable
	if err := one.Revoke(t.Context(), "anna", maker); err != nil || one.NotKept() == nil {
		t.Errorf("without the store: %v, not kept: %v", err, one.NotKept())
	}
	f.opens(one, token, false)
	f.away = nil
	f.look(one, other)
	f.opens(other, token, false)
	if err := one.NotKept(); err != nil {
		t.Errorf("the store has it: %v", err)
	}
	if err := one.Revoke(t.Context(), "anna", maker); !errors.Is(err, ErrUnknown) {
		t.Errorf("revoked twice: %v", err)
	}
	now, _ := f.Document(t.Context(), audit.Operators)
	if err := f.PutDocument(t.Context(), audit.Operators, older, now.Version); err != nil {
		t.Fatal(err)
	}
	f.look(other)
	f.opens(f.server(), token, false)
	f.Keeper = f.empty()
	f.look(other, one)
	late := f.server()
	f.opens(late, token, false)
	f.opens(late, machine, true)
}

// TestForgedDocument: a role that somebody writes into the store by hand is nobody, and what was known goes on. A change replaces it.
func TestForgedDocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.server()
	token := f.make(r, anna)
	d, err := f.Document(t.Context(), audit.Operators)
	if err != nil {
		t.Fatal(err)
	}
	var b book
	if err := json.Unmarshal([]byte(d.Text[macDigits:]), &b); err != nil {
		t.Fatal(err)
	}
	b.Tokens[0].Role = route.Admin
	eve, err := b.seal(keysOf(bookLabel, [][]byte{[]byte("a secret of somebody else, 32 bytes")}))
	if err != nil {
		t.Fatal(err)
	}
	for i, forged := range []line.Document{
		{Version: d.Version + 1, Text: eve.Text},
		{Version: d.Version + 2, Text: strings.Replace(d.Text, `"operator"`, `"admin"`, 1)},
		{Version: d.Version + 3, Text: d.Text}, // signed for another version
		{Version: d.Version + 4, Text: "{}"},
	} {
		now, _ := f.Document(t.Context(), audit.Operators)
		if err := f.PutDocument(t.Context(), audit.Operators, forged, now.Version); err != nil {
			t.Fatal(err)
		}
		r.runOnce(t.Context())
		if who, ok := r.Identify(token); !ok || !who.MaySomewhere(route.Operator) {
			t.Errorf("%d: %+v, %v", i, who, ok)
		}
		f.opens(f.server(), token, false)
	}
	ci := f.make(r, Wanted{Name: "ci", Role: route.Viewer})
	late := f.server()
	f.opens(late, ci, true)
	f.opens(late, token, true)
}

// TestRotation: a server that starts with a newer secret first signs the document anew, so that the older secret can go.
func TestRotation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	token := f.make(f.server(oldSecret, newSecret), anna)
	next := f.server()
	next.Start(t.Context())
	next.Stop()
	f.opens(f.server(newSecret), token, true)
}

// TestWhatATokenCanBe: each fault is told, and a year is the most.
func TestWhatATokenCanBe(t *testing.T) {
	t.Parallel()
	r := newFixture(t).server()
	for want, w := range map[string]Wanted{
		"name": {Name: "root", Role: route.Admin}, "begin with": {Name: "-x", Role: route.Admin}, "role": {Name: "x", Role: "god"},
		"zones": {Name: "x", Role: route.Admin, Zones: []string{"["}}, "expireSeconds": {Name: "x", Role: route.Admin, ExpireSeconds: 365*86400 + 1},
	} {
		_, _, err := r.Create(t.Context(), w, maker)
		if invalid, ok := errors.AsType[*serve.InvalidError](err); !ok || !strings.Contains(invalid.Faults[0], want) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

// TestUseIsNoted: one write a day and token.
func TestUseIsNoted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, other := f.server(), f.server()
	token := f.make(one, anna, other)
	f.opens(other, token, true)
	f.look(other, one)
	was, _ := f.Document(t.Context(), audit.Operators)
	f.opens(one, token, true)
	f.look(one, other)
	if now, _ := f.Document(t.Context(), audit.Operators); now != was {
		t.Error("a second use of the day was written")
	}
	if got := one.Tokens(); len(got) != 1 || got[0].UsedOn != "2026-11-18" {
		t.Errorf("used: %+v", got)
	}
}

// TestSession is good on every server until its time is over, it is logged out, its owner's sessions or its token are revoked.
func TestSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, other := f.server(), f.server()
	token := f.make(one, anna, other)
	begin := func(token string) string {
		t.Helper()
		who, ok := one.Identify(token)
		if who.Proof == audit.Root {
			who.Name = "Olga"
		}
		text, _, err := one.Begin(who, SessionAge)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		return text
	}
	good := func(what string, r *Registry, text string, want bool) {
		t.Helper()
		if s, ok := r.Open(text); ok != want {
			t.Errorf("%s: %+v, %v", what, s, ok)
		}
	}
	first, second, root := begin(token), begin(token), begin(rootToken)
	good("on another server", other, first, true)
	good("of root", other, root, true)
	good("with another secret", f.server(oldSecret), first, false)
	good("not signed", one, "eyJhbGciOiJub25lIn0.eyJzdWIiOiJFdmUiLCJleHAiOjQwMDAwMDAwMDB9.", false)
	good("more behind", one, first+"A", false)
	changed := New(Options{Store: f.keeper, Secrets: [][]byte{newSecret}, Root: []string{"another-root-token"}, Logger: slog.New(slog.DiscardHandler), Now: f.now})
	changed.runOnce(t.Context())
	good("root, with another token", changed, root, false)
	good("anna, with another root token", changed, first, true)

	s, _ := one.Open(first)
	one.End(t.Context(), s)
	f.Keeper = f.empty() // whatever the store has lost
	f.look(one, other)
	good("logged out", other, first, false)
	good("another session", other, second, true)
	one.EndAll(t.Context(), "Olga", maker)
	f.look(other)
	good("root's, revoked", other, root, false)
	f.at = f.at.Add(2 * time.Second)
	f.away = line.ErrStoreUnavailable
	late := f.server() // knows of no end
	good("root's, revoked before a server began without the store", late, root, false)
	good("begun since a server began without the store", late, begin(rootToken), true)
	f.away = nil
	good("root's, begun since", other, begin(rootToken), true)
	if err := one.Revoke(t.Context(), "anna", maker); err != nil {
		t.Fatal(err)
	}
	f.look(other)
	good("of a token that was revoked", other, second, false)
	for _, name := range []string{"anna@shop.example", "auth0|7"} { // by name, and by subject
		who := Identity{Name: "anna@shop.example", Proof: audit.OIDC, ID: "auth0|7", Grants: []Grant{{Role: route.Operator, Zones: []string{"SALE-*"}}, {Role: route.Viewer}}}
		text, _, err := one.Begin(who, time.Hour)
		if s, ok := other.Open(text); err != nil || !ok || !reflect.DeepEqual(s.By, who) {
			t.Fatalf("of a provider: %+v, %v, want %+v", s, err, who)
		}
		one.EndAll(t.Context(), name, maker)
		f.look(other)
		good("of a provider, revoked by "+name, other, text, false)
		f.at = f.at.Add(2 * time.Second)
		if text, _, err = one.Begin(who, time.Hour); err != nil {
			t.Fatal(err)
		}
		good("of a provider, begun since", other, text, true)
		f.at = f.at.Add(time.Hour)
		good("of a provider, after its time", other, text, false)
	}
	last, provided := begin(rootToken), ""
	for range 2 { // the second restart is one of a store that has lost nothing
		who := Identity{Name: "ben@shop.example", Proof: audit.OIDC, ID: "auth0|8", Grants: []Grant{{Role: route.Admin}}}
		var err error
		if provided, _, err = one.Begin(who, time.Hour); err != nil {
			t.Fatal(err)
		}
		if f.at = f.at.Add(2 * time.Second); last != "" {
			one.EndAll(t.Context(), "ben@shop.example", maker)
			f.Keeper, last = f.empty(), ""
			one = f.server()
			good("of a provider, revoked before the store and all servers forgot it", one, provided, false)
		}
	}
	good("of a provider, begun before servers were restarted", f.server(), provided, true)
	last = begin(rootToken)
	f.at = f.at.Add(SessionAge)
	good("after its time", one, last, false)
}

// TestRecord: tokens that are made and revoked, and what somebody known is refused, are recorded once, also when the store was away.
func TestRecord(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, other := f.server(), f.server()
	f.make(one, anna, other)
	f.away = line.ErrStoreUnavailable
	bea := audit.By{Name: "bea", Proof: audit.Token, ProofID: "4f1c09ae52"}
	for range 3 {
		one.Refused(bea, "DELETE /admin/zones/{zoneId}")
	}
	one.Refused(audit.By{}, "GET /admin/zones") // nobody who is known
	if err := one.Revoke(t.Context(), "anna", maker); err != nil {
		t.Fatal(err)
	}
	f.away = nil
	f.look(one, other, one)
	f.at = f.at.Add(refusedEvery)
	one.Refused(bea, "DELETE /admin/zones/{zoneId}")
	f.look(one)
	all, err := one.Events(t.Context(), 9)
	var got []string
	for _, e := range all {
		to, _, _ := strings.Cut(e.To, " ")
		got = append(got, e.Who()+" "+e.Did+" "+to)
	}
	want := []string{"bea was refused DELETE", "bea was refused DELETE", "root (claimed) revoked token anna", "root (claimed) created token anna"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

// TestAllows: what each role may do with each kind of call.
func TestAllows(t *testing.T) {
	t.Parallel()
	in := func(role route.Role, zones ...string) Identity {
		return Identity{Proof: audit.Token, Grants: []Grant{{role, zones}}}
	}
	// An operator of some zones, and a viewer of others.
	both := func(operates, views string) Identity {
		who := in(route.Operator, operates)
		who.Grants = append(who.Grants, in(route.Viewer, strings.Fields(views)...).Grants...)
		return who
	}
	zoned := func(role route.Role) route.Route {
		return route.Route{Path: "/admin/zones/{zoneId}", Role: role, Change: role != route.Viewer}
	}
	whole := func(role route.Role, change bool) route.Route {
		return route.Route{Path: "/admin/limits", Role: role, Change: change}
	}
	for name, tt := range map[string]struct {
		who  Identity
		call route.Route
		want bool
	}{
		"a stranger reads":                       {Identity{}, whole(route.Viewer, false), false},
		"a role that is none":                    {in("god"), whole(route.Viewer, false), false},
		"a viewer reads":                         {in(route.Viewer), zoned(route.Viewer), true},
		"a viewer changes":                       {in(route.Viewer), zoned(route.Operator), false},
		"a viewer of a zone reads it":            {in(route.Viewer, "SALE-*"), zoned(route.Viewer), true},
		"a viewer of another zone":               {in(route.Viewer, "SALE", "*-SALE"), zoned(route.Viewer), false},
		"a viewer of a zone reads lists":         {in(route.Viewer, "SALE-*"), whole(route.Viewer, false), true},
		"an operator changes a zone":             {in(route.Operator, "X", "SALE-*"), zoned(route.Operator), true},
		"an operator deletes it":                 {in(route.Operator), zoned(route.Admin), false},
		"an admin of the zone deletes it":        {in(route.Admin, "SALE-1"), zoned(route.Admin), true},
		"an admin of a zone changes the room":    {in(route.Admin, "SALE-1"), whole(route.Admin, true), false},
		"an admin of a zone lists tokens":        {in(route.Admin, "SALE-1"), whole(route.Admin, false), false},
		"an admin of all changes the room":       {in(route.Admin), whole(route.Admin, true), true},
		"an operator of a zone changes the room": {in(route.Operator, "SALE-1"), whole(route.Operator, true), false},
		"two grants, each in its own zones":      {both("SALE-2", ""), zoned(route.Operator), false},
		"what one of two grants allows":          {both("SALE-1", "SALE-2"), zoned(route.Operator), true},
		"what both together would not allow":     {both("SALE-2", ""), whole(route.Operator, true), false},
		"a pattern that is none matches no zone": {in(route.Admin, "["), zoned(route.Viewer), false},
	} {
		if err := tt.who.Allows(tt.call, "SALE-1"); (err == nil) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
