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
}

const hourMillis = 3_600_000

// Spend implements store.Spender.
func (s *Store) Spend(_ context.Context, key, by string, life time.Duration) (bool, error) {
	return s.spends.spend(s.now().UnixMilli(), store.SpendIDOf(key), store.SpendIDOf(by), min(life, store.MaxSpendLife)), nil
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
	s.journal.rotate(store.MaxSpendLife + store.SpendSetBack)
}

// take brings in the journal's records.
func (s *spends) take(records []string) {
	for _, record := range records {
		var key, by []byte
		var is spent
		_, err := fmt.Sscanf(record, "%x %x %d", &key, &by, &is.untilMillis)
		if err == nil && len(key) == len(is.by) && len(by) == len(is.by) {
			is.by = store.SpendID(by)
			s.keep(store.SpendID(key), is)
		}
	}
}
