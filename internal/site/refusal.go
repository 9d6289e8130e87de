package site

import "github.com/openqueue/waitingroom/internal/limits/ratelimit"

// ProblemHeader has the problem document of a refusal, for nginx, which drops the body.
const ProblemHeader = "X-Waiting-Room-Problem"

// The problem that a request gets which is not a browser opening a page. internal/serve/problem lists it.
const (
	// Code is what a program compares. It never changes its meaning.
	Code   = "admission_required"
	Title  = "The site has a waiting room"
	Detail = "Join at the address in join, and send the pass as X-Waiting-Room-Pass."
)

// appendRefusal appends the problem document. It escapes nothing: names of zones need no escaping,
// and the address of the room was checked when the settings were read.
func (s *Service) appendRefusal(b []byte, zoneID string) []byte {
	b = append(b, `{"type":"`+ratelimit.TypeBase+Code+`","title":"`+Title+`","status":429,"detail":"`+Detail+`","code":"`+Code+`","zoneId":"`...)
	b = append(append(b, zoneID...), `","join":"`...)
	b = append(append(b, s.RoomURL...), `/traffic/wait","page":"`...)
	return append(append(append(append(b, s.RoomURL...), "/wait/"...), zoneID...), `"}`...)
}
