// Package loadtest has no code: its tests run the visitors of loadtest/k6 in k6.
package loadtest
