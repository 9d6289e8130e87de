package embedded

// lifetimes are the passes' times to live that an operator has replaced, the
// oldest first: a change of passTtlSeconds does not reach back to those who are
// in. At most maxLifetimes are known; beyond, the oldest passes take the next's.
type lifetimes []lifetime

// lifetime: who was admitted before the time, and not before an older one's,
// has a pass for that long. Milliseconds.
type lifetime struct{ before, ttl int64 }

// maxLifetimes bounds what every answer to an admitted visitor looks through.
const maxLifetimes = 16

// of is how long a pass of that moment lives, with the ttl that holds now.
func (l lifetimes) of(atMillis, ttl int64) int64 {
	for _, was := range l {
		if atMillis < was.before {
			return was.ttl
		}
	}
	return ttl
}

// longest is the longest time to live of all, with the ttl that holds now.
func (l lifetimes) longest(ttl int64) int64 {
	for _, was := range l {
		ttl = max(ttl, was.ttl)
	}
	return ttl
}

// replace notes that the ttl was another until now.
func (l lifetimes) replace(was, ttl, now int64) lifetimes {
	l = append(l, lifetime{now + 1, was})
	return l[max(0, len(l)-maxLifetimes):].prune(ttl, now)
}

// prune forgets what can matter no more, with the ttl that holds now: an old
// one only when no admission of its time would be good under any younger one,
// lest an expired pass come to life.
func (l lifetimes) prune(ttl, now int64) lifetimes {
	for len(l) > 0 && l[0].before+l.longest(ttl) <= now {
		l = l[1:]
	}
	if len(l) == 0 {
		return nil
	}
	return l
}
