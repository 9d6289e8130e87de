package embedded

import (
	"cmp"
	"context"

	"github.com/openqueue/waitingroom/internal/line"
)

// FindVisitor implements store.Observer.
func (s *Store) FindVisitor(_ context.Context, zoneID string, of line.Admission) (f line.Found, err error) {
	id := of.ID
	q, err := s.queue(zoneID)
	if err != nil {
		return f, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if stands, ok := q.byID[id]; ok {
		r := q.line.find(line.Place{ID: id, ArrivedAtMicros: stands})
		f.Position, f.ArrivedAtMicros, f.PolledAtMillis = q.line.rank(r.place())+1, cmp.Or(q.arrived[id], stands), r.lastPoll()
	}
	for _, places := range q.aside.places {
		if its, ok := places[id]; ok {
			f.AsideAtMillis, f.ArrivedAtMicros = its.atMillis, its.arrived
		}
	}
	p := q.log.byID[id]
	of.AtMillis = max(of.AtMillis, p.atMillis)
	f.AdmittedAtMillis, f.ExpiresAtMillis, f.InsideUntilMillis = of.AtMillis, p.expiresMillis, q.in.ends[of]
	f.Used = f.InsideUntilMillis > 0 && !q.in.unused[of]
	return f, nil
}
