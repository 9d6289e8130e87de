package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
)

// drawPrefix begins the names of files with lists of draws. Zone and nonce follow, with "=" between them, which no zone's
// name has.
const drawPrefix = "draw="

func drawName(zoneID, nonce string) string { return drawPrefix + zoneID + "=" + nonce }

// Drawn implements store.Drawer.
func (s *Store) Drawn(_ context.Context, zoneID string, after line.Place, fromMicros, uptoMicros int64) (all []line.Place, _ error) {
	q, _ := s.queue(zoneID)
	if q == nil { // nobody is in a zone that is not there
		return nil, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	// The places with the score of after are looked at again: those with a greater id come next.
	q.line.ascend(max(fromMicros, after.ScoreMicros)-1, func(r *record) bool {
		if r.arrived >= uptoMicros || len(all) == store.DrawnBatch {
			return false
		}
		if r.arrived > after.ScoreMicros || !r.before(line.Place{ID: after.ID, ArrivedAtMicros: after.ScoreMicros}) && r.id != after.ID {
			all = append(all, line.Place{ID: r.id, ScoreMicros: r.arrived})
		}
		return true
	})
	return all, nil
}

// DrawnAside implements store.Drawer.
func (s *Store) DrawnAside(ctx context.Context, zoneID string, sinceMillis, fromMicros, uptoMicros int64) (all []line.Place, err error) {
	err = s.Aside(ctx, zoneID, func(p store.Silent) {
		if p.AtMillis >= sinceMillis && p.StandsMicros >= fromMicros && p.StandsMicros < uptoMicros {
			all = append(all, line.Place{ID: p.ID, ScoreMicros: p.StandsMicros})
		}
	})
	return all, err
}

// KeepDraw implements store.Drawer.
func (s *Store) KeepDraw(ctx context.Context, zoneID, nonce string, list []byte) (written bool, err error) {
	name := drawName(zoneID, nonce)
	if s.disk == nil {
		_, there := s.draws.LoadOrStore(name, slices.Clone(list))
		return !there, nil
	}
	if there, err := s.Draw(ctx, zoneID, nonce); err != nil || there != nil {
		return false, err
	}
	s.dropDraws()
	return true, s.disk.put(name, list)
}

// dropDraws deletes the files of draws that are older than store.DrawLife.
func (s *Store) dropDraws() {
	files, err := os.ReadDir(s.disk.dir)
	if err != nil {
		return
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), drawPrefix) {
			continue
		}
		if info, err := f.Info(); err == nil && s.now().Sub(info.ModTime()) > store.DrawLife {
			_ = os.Remove(filepath.Join(s.disk.dir, f.Name())) // tried again with the next draw
		}
	}
}

// Draw implements store.Drawer.
func (s *Store) Draw(_ context.Context, zoneID, nonce string) ([]byte, error) {
	name := drawName(zoneID, nonce)
	if s.disk == nil {
		kept, _ := s.draws.Load(name)
		list, _ := kept.([]byte)
		return slices.Clone(list), nil
	}
	list, err := os.ReadFile(filepath.Join(s.disk.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	return list, nil
}
