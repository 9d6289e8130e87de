package embedded

// lifetimes are the passes' times to live that an operator has replaced, the
// oldest first: a change of passTtlSeconds does not affect earlier admissions. At
// most maxLifetimes are kept. Older admissions get the oldest of these.
type lifetimes []lifetime

// lifetime is the time to live, ttl, of passes of admissions earlier than before, but not
// earlier than the before of an older lifetime. Both are in milliseconds.
type lifetime struct{ before, ttl int64 }

// maxLifetimes bounds how many lifetimes each answer to an admitted visitor looks at.
const maxLifetimes = 16

// of is how long the pass of an admission at the time lives, in milliseconds. ttl is the one
// in force now.
func (l lifetimes) of(atMillis, ttl int64) int64 {
	for _, was := range l {
		if atMillis < was.before {
			return was.ttl
		}
	}
	return ttl
}

// longest is the longest time to live of all. ttl is the one in force now.
func (l lifetimes) longest(ttl int64) int64 {
	for _, was := range l {
		ttl = max(ttl, was.ttl)
	}
	return ttl
}

// replace notes that the time to live was the one of was until now, and is ttl from then on.
func (l lifetimes) replace(was, ttl, now int64) lifetimes {
	l = append(l, lifetime{now + 1, was})
	return l[max(0, len(l)-maxLifetimes):].prune(ttl, now)
}

// prune forgets the oldest lifetimes. One is forgotten only when its admissions would have
// expired even with the longest of all: an expired pass must not be good again with a later
// lifetime. ttl is the one in force now.
func (l lifetimes) prune(ttl, now int64) lifetimes {
	for len(l) > 0 && l[0].before+l.longest(ttl) <= now {
		l = l[1:]
	}
	if len(l) == 0 {
		return nil
	}
	return l
}
