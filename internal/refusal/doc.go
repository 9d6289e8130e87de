// Package refusal says, beside each error that clients are refused with, all that is made of it: the problem document (RFC 9457)
// with its code, status and Retry-After; the outcome that metrics count; what the waiting page shows; and its entry in
// docs/reference/problems.md.
//
//	var ErrClosed = refusal.New("wait: zone closed", refusal.Refusal{Status: 423, Code: "zone_closed", ...})
//
//	a room returns ErrClosed ──> Of ──> the problem, the page, the metrics
//
// Callers compare such an error with errors.Is, and wrap it, as any other. What has no refusal is Internal, a 500: its text is
// never sent.
package refusal
