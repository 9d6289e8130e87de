// Package report says how an event, or any span of a zone, was: how many came, how many got in and how long they waited, what operators
// did meanwhile, what was refused, and what other limits would have done.
//
//	history.Read ── minutes ──┐
//	record of changes ────────┴──> Make ──> Report ──> JSON, CSV, Text, HTML
//	                                          ^
//	operator.WhatIf ── other limits ──────────┘
//
// All figures come from the minutes that the store keeps, so they are those of all servers. What the minutes do not have, the report
// says: minutes without data, and an event of which some minutes are kept no more.
package report
