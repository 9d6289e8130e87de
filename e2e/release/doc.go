// Package release has no code: its tests hold what is shipped to what it promises.
package release
