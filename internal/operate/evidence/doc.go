// Package evidence checks the log of admissions after an event: whether the limits, the cap and the order held, and whether the log is
// whole. It shares no code with the servers that admitted and wrote: of this project it imports the log's reader alone, so that an auditor can
// read all that it believes. [Fairness] says what it can show, and what it cannot.
//
// # How it judges
//
// All times are those of the zone's clock. A window is any closed span of the window's length that ends at an admission. It may hold as many
// admissions as the highest limit that was in force at any time of it, by the record of changes: ceil(perMinute * window / 60 s), and the
// burst.
//
// The store numbers the admissions. A number that no log has, though higher ones are there or the store has counted it, was removed, or
// belongs to a server whose log is missing; unless an answer of the store was lost at that time, or a server was killed, which the logs
// show. Then it is said to be unproved. Numbers begin anew only where the store has lost data, which changes the data's name.
//
// Order is by arrival, and in a draw by its score. Who did not come when told, or came back, was not overtaken.
//
// [Fairness]: https://github.com/openqueue/waitingroom/blob/main/docs/explain/fairness.md
package evidence
