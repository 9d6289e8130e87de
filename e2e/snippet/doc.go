// Package snippet has no code: its tests run the programs that docs/integrate/pass.md shows to
// services in other languages, on passes that are good and on those that are not, and the
// one of docs/explain/draw.md, on a draw that is fair and on forged ones.
package snippet
