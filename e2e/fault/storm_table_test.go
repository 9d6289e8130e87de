package fault

import (
	"fmt"
	"strings"
	"time"
)

// storm is what a crowd saw of which every visitor went through.
type storm struct {
	visitors, requests int
	// took is the time from the first arrival to the last admission.
	took time.Duration
	// inAtKill and waitedAtKill is how many were in, and waited, when the master
	// was killed; takeover is after what time its replica was the master.
	inAtKill, waitedAtKill int
	takeover               time.Duration
	// slack is how late the machine was; memory is the most that the crowd took.
	slack       time.Duration
	memoryBytes int64
	zones       []stormZone
}

// stormZone is what the crowd of one zone saw.
type stormZone struct {
	zoneID string
	// master is the number of the node that the zone lay on, killed whether it
	// was that one.
	master int
	killed bool
	// limit and perMinute are those of the window and of the minute.
	limit, perMinute int64
	verdict
	// used is the share that was let in of the limits of the windows until the
	// kill, but for the first two, in percent.
	used float64
	// enteredAfter is how many were let in within two windows of the kill.
	enteredAfter int
	// refused is how many requests were refused between the kill and the takeover.
	refused int
	// before and during are the median and ninety-nine of a hundred of the
	// times of answers before the kill, and until the replica took over.
	before, during [2]time.Duration
}

func (s storm) write(b *strings.Builder) {
	fmt.Fprintf(b, "\nThe storm: %d visitors, %d requests in %.0f s (%.0f a second). The master was killed with %d in and %d waiting; "+
		"its replica took over after %s. The crowd took %d MiB; three times the slowest answer of /healthz was %s.\n",
		s.visitors, s.requests, s.took.Seconds(), float64(s.requests)/s.took.Seconds(),
		s.inAtKill, s.waitedAtKill, seconds(s.takeover), s.memoryBytes>>20, millis(s.slack))
	b.WriteString(`
| | ` + s.across(func(z stormZone) string { return z.zoneID }) + `
| --- |` + strings.Repeat(" ---: |", len(s.zones)) + "\n")
	for _, line := range []struct {
		name string
		of   func(z stormZone) string
	}{
		{"on master", func(z stormZone) string {
			if z.killed {
				return fmt.Sprintf("%d, killed", z.master)
			}
			return fmt.Sprint(z.master)
		}},
		{"admitted", func(z stormZone) string { return fmt.Sprint(z.admitted) }},
		{"most in any window, of", func(z stormZone) string { return fmt.Sprintf("%d of %d", z.mostWindow, z.limit) }},
		{"most in any minute, of", func(z stormZone) string { return fmt.Sprintf("%d of %d", z.mostMinute, z.perMinute) }},
		{"admissions over either", func(z stormZone) string { return fmt.Sprint(z.windows) }},
		{"places lost", func(z stormZone) string { return fmt.Sprint(len(z.lost)) }},
		{"order inversions beyond the promise", func(z stormZone) string { return fmt.Sprint(z.inversions) }},
		{"overtaken, in windows' worth: p99, max", func(z stormZone) string { return fmt.Sprintf("%.2f, %.2f", z.overtaken99, z.overtaken) }},
		{"the same, with those who came late", func(z stormZone) string { return fmt.Sprintf("%.2f, %.2f", z.everybody99, z.everybody) }},
		{"came late", func(z stormZone) string { return fmt.Sprint(z.late) }},
		{"told otherwise when asking again at the end", func(z stormZone) string { return fmt.Sprint(len(z.forgotten)) }},
		{"outage seen", func(z stormZone) string { return seconds(z.outage) }},
		{"errors", func(z stormZone) string { return fmt.Sprint(z.errors) }},
		{"errors until the takeover", func(z stormZone) string { return fmt.Sprint(z.refused) }},
		{"slowest 503", func(z stormZone) string { return seconds(z.slowest) }},
		{"of the windows used until the kill", func(z stormZone) string { return fmt.Sprintf("%.1f %%", z.used) }},
		{"let in within two windows of the kill, of", func(z stormZone) string { return fmt.Sprintf("%d of %d", z.enteredAfter, 2*z.limit) }},
		{"answered before the kill: median, p99", func(z stormZone) string { return millis(z.before[0]) + ", " + millis(z.before[1]) }},
		{"answered until the takeover: median, p99", func(z stormZone) string { return millis(z.during[0]) + ", " + millis(z.during[1]) }},
	} {
		fmt.Fprintf(b, "| %s | %s\n", line.name, s.across(line.of))
	}
}

func (s storm) across(of func(z stormZone) string) string {
	var b strings.Builder
	for _, z := range s.zones {
		b.WriteString(of(z) + " | ")
	}
	return strings.TrimSpace(b.String())
}
