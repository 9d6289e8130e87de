package lua

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// recordBatch is how many zones' records are read in one exchange: 10 MB, if all are full.
	recordBatch = 10
	// maxTries bounds how often a change is tried anew, since others change the same record at the same time. Each time one of
	// them has made a change.
	maxTries = 50
)

// addition is what a change adds to a record, as a script gets it.
type addition struct {
	audit.Addition
	name, text string
	atMillis   int64
}

// compose reads the tail of a record, and composes the entry that says body. It is dated so much after the time of Redis. The
// script refuses what was composed if another change has come in between.
func (s *Store) compose(ctx context.Context, name string, body any, ahead time.Duration) (a addition, err error) {
	reply, err := s.run(ctx, readTailScript, s.recordKeys(name), s.clock(), audit.OldestRead)
	if err != nil {
		return a, err
	}
	t, err := tailOf(reply)
	if err == nil && t.Newest != "" {
		err = line.ReadEntry(name, audit.Page{}, t.Newest, &struct{}{})
	}
	if err != nil {
		return a, err
	}
	t.AtMillis += ahead.Milliseconds()
	a.name, a.atMillis = name, t.AtMillis
	if a.Addition, err = s.sealer.Compose(name, t, body); err == nil {
		a.text, err = marshal(a.Addition)
	}
	return a, err
}

func tailOf(reply any) (t audit.Tail, err error) {
	v, _ := reply.([]any)
	if len(v) != 5 {
		return t, fmt.Errorf("lua: read_tail: reply is %v", reply)
	}
	at, _ := v[0].(string)
	t.AtMillis, err = strconv.ParseInt(at, 10, 64)
	t.Head, _ = v[1].(string)
	length, _ := v[2].(int64)
	t.Length = int(length)
	t.Newest, _ = v[3].(string)
	oldest, _ := v[4].([]any)
	for _, text := range oldest {
		t.Oldest = append(t.Oldest, fmt.Sprint(text))
	}
	if err != nil {
		return t, fmt.Errorf("lua: read_tail: %w", err)
	}
	return t, nil
}

// Record implements store.Editor.
func (s *Store) Record(ctx context.Context, name string, skip int) (p audit.Page, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	keys := s.recordKeys(name)
	pipe := s.client.Pipeline()
	head := pipe.HMGet(ctx, keys[1], "head")
	entries := pipe.LRange(ctx, keys[0], int64(skip), int64(skip+audit.PageSize-1))
	if _, err := pipe.Exec(ctx); err != nil {
		return p, s.failed(ctx, "changes", err)
	}
	p.Head, _ = head.Val()[0].(string)
	p.Entries = entries.Val()
	return p, s.readTexts(ctx, keys[1], &p)
}

// readTexts reads the large values that the entries of a page refer to.
func (s *Store) readTexts(ctx context.Context, key string, p *audit.Page) error {
	hashes := audit.References(p.Entries...)
	p.Texts = make(map[string]string, len(hashes))
	for some := range slices.Chunk(hashes, audit.PageSize) {
		values, err := s.client.HMGet(ctx, key, some...).Result()
		if err != nil {
			return s.failed(ctx, "changes", err)
		}
		for i, value := range values {
			if text, there := value.(string); there {
				p.Texts[some[i]] = text
			}
		}
	}
	return nil
}

// Verify implements store.Editor.
func (s *Store) Verify(ctx context.Context, name string) (audit.Page, audit.Check, error) {
	return s.sealer.Verify(name, func(skip int) (audit.Page, error) { return s.Record(ctx, name, skip) })
}

// Recorded implements store.Editor. A zone may be in one of the lists only: they are written by and by.
func (s *Store) Recorded(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	zones, err := s.client.SMembers(ctx, s.zonesKey()).Result()
	if err != nil {
		return nil, s.failed(ctx, "changes", err)
	}
	recorded, err := s.client.SMembers(ctx, s.recordsKey()).Result()
	if err != nil {
		return nil, s.failed(ctx, "changes", err)
	}
	names := slices.Concat(zones, recorded)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Changes implements store.Editor. When a node does not answer it returns the changes of
// the other nodes, and an error.
func (s *Store) Changes(ctx context.Context, zoneID string) ([]zone.Change, error) {
	if zoneID != "" {
		p, err := s.Record(ctx, zoneID, 0)
		if err != nil {
			return nil, err
		}
		return store.ChangesOf(zoneID, p)
	}
	names, err := s.Recorded(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	var all []zone.Change
	var errs []error
	for batch := range slices.Chunk(names, recordBatch) {
		records, err := s.records(ctx, batch)
		errs = append(errs, err)
		all = zone.NewestFirst(append(records, all)...)
	}
	return all, errors.Join(errs...)
}

// records reads the newest page of some zones' records.
func (s *Store) records(ctx context.Context, names []string) (all [][]zone.Change, err error) {
	var damaged []error
	pages := make(map[string]*audit.Page)
	pipe := s.client.Pipeline()
	away := askEach(ctx, pipe, names, func(name string) replier[[]string] {
		return pipe.LRange(ctx, s.recordKeys(name)[0], 0, audit.PageSize-1)
	}, func(name string, entries []string) { pages[name] = &audit.Page{Entries: entries} })
	for _, name := range names {
		if p := pages[name]; p != nil {
			away = errors.Join(away, s.readTexts(ctx, s.recordKeys(name)[1], p))
			one, err := store.ChangesOf(name, *p)
			damaged, all = append(damaged, err), append(all, one)
		}
	}
	if away != nil {
		return all, s.failed(ctx, "changes", away)
	}
	return all, errors.Join(damaged...)
}
