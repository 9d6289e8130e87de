package split

// lease is what a master of a part may admit: its side of the ledger's lent.
type lease struct {
	life, accepted, used, allowance int64
	// ends is on the master's clock.
	ends int64
	// skew and drift make that clock: drift in millionths.
	skew, drift int64
}

func (l *lease) clock(now int64) int64 { return now + l.skew + now*l.drift/1_000_000 }

// leaseLasts is how long a lease lasts for the part, counted from its report:
// an eighth less than for the ledger, counted from when that lent. So the part
// stops first while its clock runs no more than an eighth slower than the
// ledger's; window.Clock, where it slews, runs a tenth slower.
const leaseLasts = validity - validity/8

// room is how many it lets in at that time of the run.
func (l *lease) room(now int64) int64 {
	if l.clock(now) >= l.ends {
		return 0
	}
	return max(0, l.allowance-l.used)
}

// accept takes an offer that answers a report of that clock.
func (l *lease) accept(o offer, clock int64) {
	if o.life != l.life || o.number <= l.accepted {
		return
	}
	l.accepted, l.allowance, l.ends = o.number, o.allowance, clock+leaseLasts
}
