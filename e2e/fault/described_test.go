package fault

import (
	"net/http"
	"sync/atomic"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
)

// A crowd's answers are held against the OpenAPI document: of each status the
// first hundred, later every sixty-fourth. All of them would take the time that
// the crowd is measured by.
const (
	heldFirst = 100
	heldEvery = 64
)

// codeUndescribed is a refusal by the test itself, of an answer that is not as
// the document says. No fault excuses it.
const codeUndescribed = "not described"

// heldSoFar counts the answers of each status.
var heldSoFar [600]atomic.Uint64

// held returns what is wrong with an answer, if it is one of those looked at.
func held(d *openapitest.Document, req *http.Request, sent string, res *http.Response, text []byte) error {
	if n := heldSoFar[res.StatusCode%len(heldSoFar)].Add(1); n > heldFirst && n%heldEvery != 0 {
		return nil
	}
	return d.Check(req.Context(), openapitest.Exchange{
		Request: req, Sent: []byte(sent), Status: res.StatusCode, Header: res.Header, Body: text,
	})
}
