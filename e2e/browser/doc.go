// Package browser has no code: its tests have people in real browsers use the waiting page, the
// console, and a shop behind the gate.
package browser
