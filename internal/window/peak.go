package window

// Peak is the most admissions in any 1,000 ms that ended in a minute, and in the minute before it. The zero value is
// right for a zone that let nobody in.
type Peak struct {
	// Minute is the minute, counted since 1970. Most is the most in it, Before the most in the minute before.
	Minute, Most, Before int64
}

// See counts an admission: so many, itself included, are in the 1,000 ms that end now.
func (p Peak) See(nowMillis, inSecond int64) Peak {
	p = p.at(nowMillis)
	p.Most = max(p.Most, inSecond)
	return p
}

// Latest is the most in any 1,000 ms that ended in the last one to two minutes.
func (p Peak) Latest(nowMillis int64) int64 {
	p = p.at(nowMillis)
	return max(p.Most, p.Before)
}

// at returns the peak moved on to the minute of nowMillis.
func (p Peak) at(nowMillis int64) Peak {
	switch minute := nowMillis / MinuteMillis; minute - p.Minute {
	case 0:
		return p
	case 1:
		return Peak{Minute: minute, Before: p.Most}
	default:
		return Peak{Minute: minute}
	}
}
