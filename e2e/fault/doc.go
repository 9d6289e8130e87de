// Package fault breaks the waiting room on purpose, while a crowd goes through
// it, and judges what the crowd saw. It is for tests alone: everything runs in
// processes on loopback that the test starts, and ends by their own ids.
//
//	crowd ──HTTP──> queue-server x 2 ──[proxy]──> Redis, cluster, sentinels
//	  │                  ^ kill                        ^ kill, stop, empty, fill
//	  v                  └──────── the test ───────────┘
//	records ──> judge ──> row ──> the fault table (make faults)
//
// # What is judged
//
// Only what visitors were told counts, never what a store or a server says of
// itself: when they were admitted, where they stood, what they were refused.
// Package measure judges the order and the limits.
// Windows are closed intervals of the recorded admittedAt. A place is lost when
// one who polled when told to is sent away, stands anew, or is never seen again.
//
// How long things take is judged only as far as the machine is on time, which a
// timer of the crowd's own process shows. A broken promise fails on any machine.
//
// These are the promises (docs/engineering/guarantees.md) that are held: G1, never over: no window
// and no minute holds more admissions than its limit; G3, first come, first served; G4, no
// lost place; G5, every call can be repeated; G10, zones do not touch each other; G11, the
// dead stay dead; G12, the brake always works.
//
// # What a crowd does
//
// Each visitor joins with a clientId of its own and polls when it was told to,
// pollingPeriod after an answer and Retry-After after a refusal. Requests go to
// the servers in turn, as behind a balancer: a server that refuses connections
// is passed over, an answer that breaks off is the visitor's to repeat. A test has
// one of them play every act of package rehearse.
package fault
