// Package baseline is what package lua is measured against: a redis-server of
// its own, what that server says of its work, and the least that a poll must
// do. It is for measuring alone; nothing that serves visitors imports it.
package baseline
