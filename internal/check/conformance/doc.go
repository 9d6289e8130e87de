// Package conformance is what every store of zones must do, as tests that both stores'
// own tests run. Run has a short story for each promise: most are scripts, which
// stories/README.md explains, the others are in Go. Property drives a store, or several
// side by side, with random calls.
//
// Both compare every answer, whole, with a model: the admission rule once more,
// as plainly as it can be written (model.go). So a store is right when it says
// what the model says, and the model is right when the stories come true. The
// arithmetic is not written twice: package window has it, and tests of its own.
//
// Of the promises of docs/engineering/guarantees.md these are kept by a store alone, and tested
// here:
//
//	G1   never over: no interval as long as the window holds more admissions than its
//	     limit, no minute more than perMinute
//	G3   first come, first served
//	G4   no lost place: whoever polls within the idle timeout keeps it, even when the
//	     store loses all data
//	G5   every call can be repeated
//	G10  zones do not touch each other, and a crowd that has gone leaves nothing behind
//	G11  the dead stay dead: who was admitted, left, was swept or deleted does not come back
//
// The clock is injected and moves only when a test moves it. Nothing sleeps.
package conformance
