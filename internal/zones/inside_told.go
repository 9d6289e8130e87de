package zones

import "github.com/openqueue/waitingroom/internal/line"

// toldInside is what the store is told, and of whom.
type toldInside struct {
	stays []line.Stay
	names []jti
}

func (t *toldInside) add(z *Zone, j jti, s line.Stay) {
	var ok bool
	if s.Admission, ok = line.AdmissionOf(z.id, j); ok {
		t.stays, t.names = append(t.stays, s), append(t.names, j)
	}
}

// take takes out of a part what is new. The caller holds the part's mu.
func (t *toldInside) take(z *Zone, p *insidersPart, now int64) {
	for j, until := range p.untold {
		t.add(z, j, line.Stay{LeftMillis: max(1, until-now)})
	}
	for j := range p.done {
		t.add(z, j, line.Stay{})
	}
	p.untold, p.done = nil, nil
}

// again has the store be told anew of all that a part knows. The caller holds the part's mu.
func (t *toldInside) again(z *Zone, p *insidersPart, now int64) {
	for j, is := range p.sessions {
		if _, over := p.over[j]; !over && is.until > now {
			t.add(z, j, line.Stay{LeftMillis: is.until - now})
		}
	}
	for j := range p.over {
		t.add(z, j, line.Stay{Before: true})
	}
}

// untell has the store be told once more: left is for how much longer the session lasted at that time.
func (p *insidersPart) untell(j jti, left, at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, over := p.over[j]; left == 0 {
		add(&p.done, j, true)
	} else if !over {
		add(&p.untold, j, max(at+left, p.untold[j]))
	}
}
