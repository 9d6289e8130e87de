// Package snippet has no code: its tests run the programs that docs/pass.md shows to
// services in other languages, on passes that are good and on those that are not.
package snippet
