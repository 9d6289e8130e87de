// Package parts has what tests put in the place of a server's parts: a clock that the test moves, an embedded store that the test can
// have fail, hang or answer otherwise (Store.Do), a limiter that refuses, and a meter that writes down what it is told. Tests inside a
// package whose server is too large for them (package room) build what they need of these.
package parts

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Clock stands still until it is moved.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock of 2026.
func NewClock() *Clock { return &Clock{now: time.UnixMilli(1_795_223_373_000)} }

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Forward moves the clock, back if d is negative.
func (c *Clock) Forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Set sets the clock.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// Secrets are those of a server, newest first.
func Secrets() [][]byte {
	return [][]byte{bytes.Repeat([]byte{'n'}, 32), bytes.Repeat([]byte{'o'}, 32)}
}

// Store is an embedded store that writes down what it is asked, and does what it is told. Whatever a test asks its field Store passes
// it by.
type Store struct {
	*embedded.Store
	mu    sync.Mutex
	calls []string
	does  func(ctx context.Context, call string) error
	says  func(*line.State)
	// Status, when it is not line.Waiting, is what joins and polls are answered at once.
	Status line.Status
}

// OpenStore opens a store with this clock that ends with the test.
func OpenStore(tb testing.TB, now func() time.Time, log *slog.Logger) *Store {
	tb.Helper()
	lines, err := embedded.Open(embedded.Options{Now: now, Logger: log})
	Must(tb, err)
	tb.Cleanup(func() { Must(tb, lines.Close()) })
	return &Store{Store: lines}
}

// Do has this called before each call, by the name of its method in small letters. If it returns an error, so does the call. nil has
// the store answer again.
func (s *Store) Do(does func(ctx context.Context, call string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.does = does
}

// Fail has these calls fail, or all if none is named. nil has the store answer again.
func (s *Store) Fail(err error, calls ...string) {
	s.Do(func(_ context.Context, call string) error {
		if len(calls) == 0 || strings.Contains(" "+strings.Join(calls, " ")+" ", " "+call+" ") {
			return err
		}
		return nil
	})
}

// Say has this change the state of the line that the store says.
func (s *Store) Say(says func(*line.State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.says = says
}

// Lined has the store say that somebody waits, or that nobody does.
func (s *Store) Lined(is bool) {
	s.Say(func(state *line.State) {
		if state.Waiting = max(1, state.Waiting); !is {
			state.Waiting = 0
		}
	})
}

// Asked returns what was asked since the last time, and forgets it.
func (s *Store) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// none is the answer of a call that returns only an error.
type none struct{}

// ask writes a call down, does what the test wants before it, and makes it.
func ask[T any](ctx context.Context, s *Store, call string, do func() (T, error)) (answer T, err error) {
	s.mu.Lock()
	s.calls = append(s.calls, call)
	does := s.does
	s.mu.Unlock()
	if does != nil {
		err = does(ctx, call)
	}
	if err != nil {
		return answer, err
	}
	return do()
}

func (s *Store) say(state *line.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.says != nil {
		s.says(state)
	}
}

// visit is a join or a poll.
func (s *Store) visit(ctx context.Context, call string, do func() (line.Answer, error)) (line.Answer, error) {
	return ask(ctx, s, call, func() (line.Answer, error) {
		if s.Status != line.Waiting {
			return line.Answer{Status: s.Status}, nil
		}
		a, err := do()
		s.say(&a.State)
		return a, err
	})
}

// Join and the methods below are those of store.Store.
func (s *Store) Join(ctx context.Context, zoneID string, id line.ID) (line.Answer, error) {
	return s.visit(ctx, "join", func() (line.Answer, error) { return s.Store.Join(ctx, zoneID, id) })
}

// JoinDrawn is a join while people gather for a draw.
func (s *Store) JoinDrawn(ctx context.Context, zoneID string, drawn event.Drawn, id line.ID) (line.Answer, error) {
	return s.visit(ctx, "join", func() (line.Answer, error) { return s.Store.JoinDrawn(ctx, zoneID, drawn, id) })
}

// Poll is a poll.
func (s *Store) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	return s.visit(ctx, "poll", func() (line.Answer, error) { return s.Store.Poll(ctx, zoneID, p) })
}

// Leave gives a place up.
func (s *Store) Leave(ctx context.Context, zoneID string, p line.Place) error {
	_, err := ask(ctx, s, "leave", func() (none, error) { return none{}, s.Store.Leave(ctx, zoneID, p) })
	return err
}

// Visit notes a visit by a ticket.
func (s *Store) Visit(ctx context.Context, key string, v store.Visit) (store.Visit, error) {
	return ask(ctx, s, "visit", func() (store.Visit, error) { return s.Store.Visit(ctx, key, v) })
}

// Spend spends what may be used once.
func (s *Store) Spend(ctx context.Context, key, by string, life time.Duration) (bool, error) {
	return ask(ctx, s, "spend", func() (bool, error) { return s.Store.Spend(ctx, key, by, life) })
}

// Observe looks at a zone.
func (s *Store) Observe(ctx context.Context, zoneID string, most int) (line.Observation, error) {
	o, err := ask(ctx, s, "observe", func() (line.Observation, error) { return s.Store.Observe(ctx, zoneID, most) })
	s.say(&o.State)
	return o, err
}

// Zone reads a zone's settings.
func (s *Store) Zone(ctx context.Context, zoneID string) (zone.Settings, error) {
	return ask(ctx, s, "zone", func() (zone.Settings, error) { return s.Store.Zone(ctx, zoneID) })
}

// Zones reads the settings of all zones.
func (s *Store) Zones(ctx context.Context) ([]zone.Settings, error) {
	return ask(ctx, s, "zones", func() ([]zone.Settings, error) { return s.Store.Zones(ctx) })
}

// PutZone makes or changes a zone.
func (s *Store) PutZone(ctx context.Context, now zone.Settings, was *zone.Settings, by audit.By) (bool, error) {
	return ask(ctx, s, "put_zone", func() (bool, error) { return s.Store.PutZone(ctx, now, was, by) })
}

// DeleteZone deletes a zone.
func (s *Store) DeleteZone(ctx context.Context, zoneID string, by audit.By) error {
	_, err := ask(ctx, s, "delete_zone", func() (none, error) { return none{}, s.Store.DeleteZone(ctx, zoneID, by) })
	return err
}

// Changes reads the record of a zone's changes.
func (s *Store) Changes(ctx context.Context, zoneID string) ([]zone.Change, error) {
	return ask(ctx, s, "changes", func() ([]zone.Change, error) { return s.Store.Changes(ctx, zoneID) })
}

// Document reads a document.
func (s *Store) Document(ctx context.Context, name string) (line.Document, error) {
	return ask(ctx, s, "document", func() (line.Document, error) { return s.Store.Document(ctx, name) })
}

// PutDocument replaces a document.
func (s *Store) PutDocument(ctx context.Context, name string, d line.Document, was int64, notes ...line.Note) error {
	_, err := ask(ctx, s, "put_document", func() (none, error) { return none{}, s.Store.PutDocument(ctx, name, d, was, notes...) })
	return err
}

// Limiter allows everything while it does not refuse. It writes down about whom it is asked: the policy and the key.
type Limiter struct {
	Asked   []string
	Refuses bool
}

// Check and CheckAll implement guard.Limiter.
func (l *Limiter) Check(ctx context.Context, q limiter.Question) (limiter.Answer, error) {
	return l.CheckAll(ctx, q)
}

// CheckAll is asked about several at once. Challenges are not counted.
func (l *Limiter) CheckAll(_ context.Context, questions ...limiter.Question) (limiter.Answer, error) {
	for _, q := range questions {
		if q.Policy == guard.Challenges {
			return limiter.Answer{Verdict: limit.Verdict{Allowed: true}}, nil
		}
		l.Asked = append(l.Asked, q.Policy+" "+q.Key)
	}
	return limiter.Answer{Verdict: limit.Verdict{Allowed: !l.Refuses, RetryMillis: 12_345}}, nil
}

// Meter writes down what it is told: "join SHOP waiting".
type Meter struct {
	mu   sync.Mutex
	seen []string
}

func (m *Meter) note(what ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, strings.TrimSuffix(fmt.Sprintln(what...), "\n"))
}

// Seen returns what was counted since the last time, and forgets it.
func (m *Meter) Seen() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.seen
	m.seen = nil
	return seen
}

// Join and the methods below are those of the rooms' meters.
func (m *Meter) Join(zoneID, outcome string) { m.note("join", zoneID, outcome) }

// Poll counts a poll.
func (m *Meter) Poll(zoneID, outcome string) { m.note("poll", zoneID, outcome) }

// Challenge counts a proof.
func (m *Meter) Challenge(zoneID, outcome string) { m.note("challenge", zoneID, outcome) }

// Refuse counts a problem.
func (m *Meter) Refuse(zoneID, code string) { m.note("refuse", zoneID, code) }

// Admit counts an admission.
func (m *Meter) Admit(zoneID string, waited time.Duration) { m.note("admit", zoneID, waited) }

// Site counts a question of a gateway.
func (m *Meter) Site(zoneID, outcome string) { m.note("site", zoneID, outcome) }

// Must ends the test if there is an error.
func Must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
