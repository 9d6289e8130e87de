package wait_test

import (
	"os"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
)

// excused are described, and cannot be got here.
var excused = map[string]string{
	"POST /traffic/leave 429 too_many_requests":         limited,
	"GET /traffic/zones/{zoneId} 429 too_many_requests": limited,
	"POST /traffic/wait 403 cross_origin":               browsers,
	"POST /traffic/leave 403 cross_origin":              browsers,
}

// The reasons.
const (
	limited  = "for a limit in front of the room, which itself does not count these"
	browsers = "for the server's routes, which refuse it before the room: TestNoSiteHasItsReadersJoin gets it"
)

// TestMain wants the tests to have got every answer that is described.
func TestMain(m *testing.M) {
	os.Exit(openapitest.Public.Main(m, excused, "/traffic/wait", "/traffic/leave", "/traffic/zones/{zoneId}"))
}
