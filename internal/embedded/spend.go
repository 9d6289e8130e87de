package embedded

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/store"
)

// spends are the keys that are spent. Memory is given back when their lives have been over for store.SpendSetBack, a
// minute's keys at a time.
type spends struct {
	mu  sync.Mutex
	all map[store.SpendID]spent
	// ends are the keys by the minute, since 1970, in which their lives end.
	ends map[int64][]store.SpendID
	// tidied is the minute in which keys were last forgotten.
	tidied int64
	// journal has a record of each key that was spent: key and spender in hexadecimal, and when its life ends, in
	// milliseconds. Nil without a directory.
	journal *journal
}

type spent struct {
	by          store.SpendID
	untilMillis int64
}

const minuteMillis = 60_000

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
	s.forget(now)
	is, known := s.all[key]
	switch {
	case known && now < is.untilMillis:
		return life > 0 && is.by == by, ""
	case life > 0:
		is = spent{by: by, untilMillis: now + life.Milliseconds()}
		s.keep(key, is)
		record = fmt.Sprintf("%x %x %d", key, by, is.untilMillis)
	}
	return true, record
}

// keep remembers a key. The caller holds mu.
func (s *spends) keep(key store.SpendID, is spent) {
	if s.all == nil {
		s.all, s.ends = make(map[store.SpendID]spent), make(map[int64][]store.SpendID)
	}
	s.all[key] = is
	minute := is.untilMillis / minuteMillis
	s.ends[minute] = append(s.ends[minute], key)
}

// forget gives back the memory of keys whose lives have been over for store.SpendSetBack. The caller holds mu.
func (s *spends) forget(now int64) {
	if s.tidied == now/minuteMillis {
		return
	}
	s.tidied = now / minuteMillis
	kept := (now - store.SpendSetBack.Milliseconds()) / minuteMillis // the first minute whose keys are kept
	for minute, keys := range s.ends {
		if minute >= kept {
			continue
		}
		delete(s.ends, minute)
		for _, key := range keys {
			if s.all[key].untilMillis/minuteMillis == minute { // else it was spent again
				delete(s.all, key)
			}
		}
	}
	if len(s.all) == 0 {
		s.all, s.ends = nil, nil // maps do not shrink
	}
}

// tidy does what is to be done now and then, whether anybody spends or not.
func (s *spends) tidy(now time.Time) {
	s.mu.Lock()
	s.forget(now.UnixMilli())
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
