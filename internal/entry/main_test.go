package entry_test

import (
	"os"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
)

// excused are described, and cannot be got here.
var excused = map[string]string{
	"POST /traffic/entry 403 cross_origin": "for the server's routes, which refuse it before the room: TestPagesOfOtherSites gets it",
}

// TestMain wants the tests to have got every answer that is described.
func TestMain(m *testing.M) {
	os.Exit(openapitest.Public.Main(m, excused, "/traffic/entry", "/.well-known/jwks.json"))
}
