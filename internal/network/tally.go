package network

// Counts are what became of joins in the minutes for which they count.
type Counts struct {
	Joins      int64 `json:"joins" doc:"Places that were taken." example:"4711"`
	Admissions int64 `json:"admissions" doc:"Visitors who were admitted." example:"1200"`
	Refused    int64 `json:"refused" doc:"Joins that were refused with network_share." example:"388"`
}

func (c *Counts) add(d Counts) {
	c.Joins += d.Joins
	c.Admissions += d.Admissions
	c.Refused += d.Refused
}

// tally counts one network, or all joins of a zone.
type tally struct {
	shares *Shares
	name   string
	// pending counts joins under way, unused the admissions that nobody used yet.
	pending, unused int64
	// minute is that of the newest bucket; the bucket of minute m is buckets[m % len(buckets)].
	minute  int64
	buckets []Counts
}

// span has joins count for so many minutes from now on.
func (t *tally) span(minutes int64) {
	was := t.buckets
	if int64(len(was)) == minutes {
		return
	}
	t.buckets = make([]Counts, minutes)
	for m := t.minute; m > max(-1, t.minute-min(minutes, int64(len(was)))); m-- {
		t.buckets[m%minutes] = was[m%int64(len(was))]
	}
}

// at empties the buckets that are too old, and returns that of the minute.
func (t *tally) at(minute int64) *Counts {
	span := int64(len(t.buckets))
	for t.minute = max(t.minute, minute-span); t.minute < minute; {
		t.minute++
		t.buckets[t.minute%span] = Counts{}
	}
	return &t.buckets[minute%span]
}

func (t *tally) sum(minute int64) (all Counts) {
	t.at(minute)
	for _, b := range t.buckets {
		all.add(b)
	}
	return all
}

// joins counts joins under way as if they took places.
func (t *tally) joins(minute int64) int64 { return t.sum(minute).Joins + t.pending }

// over reports whether another join would be more than the share, in per cent of all joins, those under way included.
func (t *tally) over(share float64, all, minute int64, lined bool) bool {
	joins := t.joins(minute) + 1
	switch {
	case share == 0:
		return true
	case joins <= t.shares.floor(), !lined && t.pending < Floor:
		return false
	}
	return float64(100*joins) > share*float64(all+1)
}

// usual is how many joins a network may have, and at least a hundredth of all, for its visitors to work as much as the zone's challenge
// says: twice as many cost twice as much, and more cost four times as much.
const usual = 100

// level is how much the network has taken: see Join.
func (t *tally) level(all, minute int64) int {
	most := max(usual, all/100)
	return int(min(2, t.joins(minute)/(most+1)))
}
