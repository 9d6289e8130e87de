package embedded

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/store"
)

// spends are the keys that are spent. Memory is given back when their lives have been over for store.SpendSetBack, an
// hour's keys at once.
type spends struct {
	mu sync.Mutex
	// byHour are the keys by the hour, since 1970, in which their lives end.
	byHour map[int64]map[store.SpendID]spent
	// journal has a record of each key that was spent: key and spender in hexadecimal, and when its life ends, in
	// milliseconds. Nil without a directory.
	journal *journal
}

type spent struct {
	by          store.SpendID
	untilMillis int64
	// visit is that of a ticket, the zero value for what is no ticket.
	visit store.Visit
}

const (
	hourMillis = 3_600_000
	// visitLife is for how long a record of the journal matters at most: a pass of a day, or a session, and what a visit is kept for.
	visitLife = store.MaxSpendLife + store.VisitKept + store.SpendSetBack
)

// Spend implements store.Spender.
func (s *Store) Spend(_ context.Context, key, by string, life time.Duration) (bool, error) {
	return s.spends.spend(s.now().UnixMilli(), store.SpendIDOf(key), store.SpendIDOf(by), min(life, store.MaxSpendLife)), nil
}

// Visit implements store.Spender.
func (s *Store) Visit(_ context.Context, key string, v store.Visit) (store.Visit, error) {
	newest, record := s.spends.visit(s.now().UnixMilli(), store.SpendIDOf(key), v)
	if record != "" {
		s.spends.journal.add(record)
	}
	return newest, nil
}

// visit returns the newest visit of a key, and its record if that is not what was known.
func (s *spends) visit(now int64, key store.SpendID, v store.Visit) (newest store.Visit, record string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var was store.Visit
	for _, keys := range s.byHour {
		if is, known := keys[key]; known && now < is.untilMillis {
			if was = is.visit; was.AtMillis == 0 { // a version before 0.2 noted that the ticket is used
				return store.Visit{AtMillis: 1}, ""
			}
		}
	}
	if newest = was.Newer(v); newest == was {
		return was, ""
	}
	s.keep(key, visited(newest))
	return newest, fmt.Sprintf(visitRecord, key, newest.AtMillis, newest.UntilMillis, newest.BegunMillis)
}

// visitRecord is a visit in the journal.
const visitRecord = "visit %x %d %d %d"

func visited(v store.Visit) spent {
	return spent{untilMillis: v.UntilMillis + store.VisitKept.Milliseconds(), visit: v}
}

func (s *spends) spend(now int64, key, by store.SpendID, life time.Duration) (first bool) {
	first, record := s.decide(now, key, by, life)
	if record != "" {
		s.journal.add(record)
	}
	return first
}

// decide returns whether the key may be used, and the record of that if it is new.
func (s *spends) decide(now int64, key, by store.SpendID, life time.Duration) (first bool, record string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, keys := range s.byHour {
		if is, known := keys[key]; known && now < is.untilMillis {
			return life > 0 && is.by == by, ""
		}
	}
	if life <= 0 {
		return true, ""
	}
	is := spent{by: by, untilMillis: now + life.Milliseconds()}
	s.keep(key, is)
	return true, fmt.Sprintf("%x %x %d", key, by, is.untilMillis)
}

// keep remembers a key. The caller holds mu.
func (s *spends) keep(key store.SpendID, is spent) {
	for _, keys := range s.byHour {
		delete(keys, key) // of a life that is over
	}
	hour := is.untilMillis / hourMillis
	if s.byHour == nil {
		s.byHour = make(map[int64]map[store.SpendID]spent)
	}
	if s.byHour[hour] == nil {
		s.byHour[hour] = make(map[store.SpendID]spent)
	}
	s.byHour[hour][key] = is
}

// tidy forgets keys and journals that do not matter any more.
func (s *spends) tidy(now time.Time) {
	s.mu.Lock()
	kept := now.Add(-store.SpendSetBack).UnixMilli() / hourMillis // the first hour whose keys are kept
	maps.DeleteFunc(s.byHour, func(hour int64, _ map[store.SpendID]spent) bool { return hour < kept })
	s.mu.Unlock()
	s.journal.rotate(visitLife)
}

// take brings in the journal's records.
func (s *spends) take(records []string) {
	for _, record := range records {
		var key, by []byte
		var is spent
		var v store.Visit
		if n, _ := fmt.Sscanf(record, visitRecord, &key, &v.AtMillis, &v.UntilMillis, &v.BegunMillis); n == 4 && len(key) == len(is.by) {
			s.keep(store.SpendID(key), visited(v))
			continue
		}
		_, err := fmt.Sscanf(record, "%x %x %d", &key, &by, &is.untilMillis)
		if err == nil && len(key) == len(is.by) && len(by) == len(is.by) {
			is.by = store.SpendID(by)
			s.keep(store.SpendID(key), is)
		}
	}
}
