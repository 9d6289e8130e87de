// Package background is what runs beside the requests: loops that begin with a part of the
// server and end with it (Group), and calls that many requests share (Shared).
package background
