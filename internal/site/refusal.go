package site

import (
	"strconv"

	"github.com/openqueue/waitingroom/internal/refusal"
)

// Headers of an answer to nginx that is not for auth_request to decide: see toNginx.
const (
	// ProblemHeader has the problem document.
	ProblemHeader = "X-Waiting-Room-Problem"
	// StatusHeader has the status that the visitor is to get: 429, 503, 400 or 500.
	StatusHeader = "X-Waiting-Room-Status"
)

// admissionRequired is what a request gets that is not a browser opening a page.
var admissionRequired = refusal.Refusal{
	Code:   "admission_required",
	Title:  "The site has a waiting room",
	Detail: "Join at the address in join, and send the pass as X-Waiting-Room-Pass.",
}

// appendRefusal appends the problem document. It escapes nothing: names of zones need no escaping,
// and the address of the room was checked when the settings were read.
func (s *Service) appendRefusal(b []byte, zoneID string, status int) []byte {
	b = append(b, `{"type":"`+refusal.TypeBase+admissionRequired.Code+`","title":"`+admissionRequired.Title+`","status":`...)
	b = append(strconv.AppendInt(b, int64(status), 10), `,"detail":"`+admissionRequired.Detail+`","code":"`+admissionRequired.Code+`","zoneId":"`...)
	b = append(append(b, zoneID...), `","join":"`...)
	b = append(append(b, s.RoomURL...), `/traffic/wait","page":"`...)
	return append(append(append(append(b, s.RoomURL...), "/wait/"...), zoneID...), `"}`...)
}
