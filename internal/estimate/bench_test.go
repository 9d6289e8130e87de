package estimate

import (
	"testing"
	"time"
)

// BenchmarkTell is what an estimate adds to a poll.
func BenchmarkTell(b *testing.B) {
	table := after(new(Model), 512, 5, nobody)
	a := tell(table, 330, 6)
	for b.Loop() {
		table.Tell(a.Answer, 1000*began+330)
	}
}

// BenchmarkLearn is what a zone costs once a second.
func BenchmarkLearn(b *testing.B) {
	m := new(Model)
	after(m, 512, 30, half)
	s := rush(512, 31, half)
	for b.Loop() {
		m.Learn(s, time.Minute)
	}
}
