// Package conformance is what every store must do, as tests that both stores'
// own tests run: Run has one short story for each promise, Property drives a
// store, or several side by side, with random calls.
//
// Both compare every answer, whole, with a model: the admission rule once more,
// as plainly as it can be written (model.go). So a store is right when it says
// what the model says, and the model is right when the stories come true. The
// arithmetic is not written twice: package window has it, and tests of its own.
//
// The clock is injected and moves only when a test moves it. Nothing sleeps.
package conformance
