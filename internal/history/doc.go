// Package history keeps what happened in each minute of each zone, for operators who ask after the event.
//
//	watch ── what it sees each second ──> Recorder ── a row a minute ──> store.Historian ── Read ──> Minute ──> the report
//
// Each server makes a row of each minute in which something happened in a zone, and offers it to the store, which keeps the first of
// all servers'. A row has the zone's totals since its data began, not those of the minute alone: so rows of several servers, whose
// looks are up to a second apart, never count anything twice, and what happened in minutes without a row is known as a sum. What
// was refused only the servers know: each server adds a row of its own in a minute in which it refused anything.
//
// The minutes are those of the zone's clock, in the store. Minutes in which no server could ask the store have no row, and Read says
// so.
package history
