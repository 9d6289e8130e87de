package embedded

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/store"
)

// minutesPrefix begins the names of files with the minutes of one day. Zone and day, counted from 1970, follow, with "=" between
// them, which no zone's name has.
const minutesPrefix = "minutes="

func minutesName(zoneID string, day int64) string {
	return minutesPrefix + zoneID + "=" + strconv.FormatInt(day, 10)
}

// KeepMinutes implements store.Historian. A day's file is written as a whole: at most 0.2 MB, once a minute.
func (s *Store) KeepMinutes(_ context.Context, zoneID string, keep time.Duration, rows []store.Minute) error {
	s.history.Lock()
	defer s.history.Unlock()
	byDay := make(map[int64][]store.Minute)
	for _, m := range rows {
		byDay[m.Minute/store.MinutesOfDay] = append(byDay[m.Minute/store.MinutesOfDay], m)
	}
	for day, more := range byDay {
		all, err := s.minutesOf(zoneID, day)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			s.dropMinutes(keep)
		}
		for _, m := range more {
			if m.Replaces {
				m.Replaces = false
				all = slices.DeleteFunc(all, func(was store.Minute) bool { return byMinute(was, m) == 0 })
			}
			all = append(all, m)
		}
		slices.SortStableFunc(all, byMinute)
		all = slices.CompactFunc(all, func(a, b store.Minute) bool { return byMinute(a, b) == 0 })
		if err := s.putMinutes(minutesName(zoneID, day), all); err != nil {
			return err
		}
	}
	return nil
}

// Share implements store.Sharer.
func (s *Store) Share(_ context.Context, _ string, _ int64, _ string, text []byte) ([][]byte, error) {
	return [][]byte{slices.Clone(text)}, nil
}

func byMinute(a, b store.Minute) int {
	return cmp.Or(cmp.Compare(a.Minute, b.Minute), cmp.Compare(a.By, b.By))
}

// Minutes implements store.Historian.
func (s *Store) Minutes(_ context.Context, zoneID string, from, upto int64) (all []store.Minute, err error) {
	s.history.Lock()
	defer s.history.Unlock()
	for day := from / store.MinutesOfDay; day*store.MinutesOfDay < upto; day++ {
		some, err := s.minutesOf(zoneID, day)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(some, func(m store.Minute) bool { return m.Minute < from || m.Minute >= upto })...)
	}
	return all, nil
}

// minutesOf returns the rows of a day, in order, and putMinutes keeps them. The caller holds history.
func (s *Store) minutesOf(zoneID string, day int64) (all []store.Minute, err error) {
	name := minutesName(zoneID, day)
	if s.disk == nil {
		return slices.Clone(s.minutes[name]), nil
	}
	text, err := os.ReadFile(filepath.Join(s.disk.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("embedded: minutes: %w", err)
	}
	return all, nil
}

func (s *Store) putMinutes(name string, all []store.Minute) error {
	if s.disk == nil {
		s.minutes[name] = all
		return nil
	}
	text, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("embedded: minutes: %w", err)
	}
	return s.disk.put(name, text)
}

// dropMinutes forgets the days that ended longer than keep ago. A file that cannot be deleted now is tried again with the next day.
// The caller holds history.
func (s *Store) dropMinutes(keep time.Duration) {
	last := int64(s.now().Add(-keep).Sub(time.Unix(0, 0))/time.Minute)/store.MinutesOfDay - 1
	old := func(name string) bool {
		rest, ok := strings.CutPrefix(name, minutesPrefix)
		_, of, _ := strings.Cut(rest, "=")
		day, err := strconv.ParseInt(of, 10, 64)
		return ok && err == nil && day <= last
	}
	for name := range s.minutes {
		if old(name) {
			delete(s.minutes, name)
		}
	}
	if s.disk == nil {
		return
	}
	files, err := os.ReadDir(s.disk.dir)
	if err != nil {
		return
	}
	for _, f := range files {
		if old(f.Name()) {
			_ = os.Remove(filepath.Join(s.disk.dir, f.Name()))
		}
	}
}
