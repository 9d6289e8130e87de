// Package challenge asks whoever joins for a proof that costs something: work that a browser does by itself, or the word
// of a provider that looks at browsers. Bots take places by joining, so the join is where the proof is asked for.
//
//	join without a proof ──> Checker.Check ──> RequiredError, with a new challenge (work.go)
//	join with a proof ────> Checker.Check ──> signature, zone, visitor, expiry ──> seen before? ──> queue.go: one derivation
//	                                       (some 10 us, no store)               (seen.go)       provider.go: one question
//	                                             └──> Proof ──> the room joins, and then Checker.Spend
//
// # Work
//
// The challenge and its solution have the format of ALTCHA (version 2): find a counter for which scrypt makes a key that
// begins with KeyPrefix. A challenge says its zone, its visitor, its difficulty and when it ends, and is signed. So the server
// keeps nothing until a solution comes, and makes a challenge without a derivation. Decision 0059 says why scrypt, and why the
// server derives the key of a solution once instead of that of each challenge.
//
// # One solution, one place
//
// The visitor's id is in the challenge: that of the clientId, or else a new one. So two visitors cannot use one solution,
// and a join that is repeated finds the same place. Once the place is taken the solution is spent in the store: it finds that
// place while it lasts, and takes no other.
package challenge
