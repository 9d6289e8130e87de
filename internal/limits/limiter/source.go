package limiter

import "github.com/openqueue/waitingroom/internal/limits/limit"

// Sources returns what a policy tells clients apart by, not to be changed; ok is
// false where no policy of that name is in force.
func (l *Limiter) Sources(name string) (sources []limit.Source, ok bool) {
	p := l.inForce.Load().policies[name]
	if p == nil {
		return nil, false
	}
	return p.is.Key, true
}
