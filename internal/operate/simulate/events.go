package simulate

// event is a visitor's next request.
type event struct {
	at int64 // microseconds
	v  int32
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.v < o.v }

// events is a heap, the earliest first. It is not container/heap, which would
// allocate for each of some millions of events.
type events []event

func (e events) init() {
	for i := len(e)/2 - 1; i >= 0; i-- {
		e.down(i)
	}
}

func (e *events) push(x event) {
	h := append(*e, x)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !x.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = x
	*e = h
}

func (e *events) pop() event {
	h := *e
	first, last := h[0], len(h)-1
	h[0] = h[last]
	*e = h[:last]
	if last > 0 {
		e.down(0)
	}
	return first
}

func (e events) down(i int) {
	x := e[i]
	for {
		child := 2*i + 1
		if child >= len(e) {
			break
		}
		if right := child + 1; right < len(e) && e[right].before(e[child]) {
			child = right
		}
		if !e[child].before(x) {
			break
		}
		e[i] = e[child]
		i = child
	}
	e[i] = x
}
