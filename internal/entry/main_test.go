package entry_test

import (
	"os"
	"testing"

	"github.com/openqueue/waitingroom/internal/openapi/openapitest"
)

// TestMain wants the tests to have got every answer that is described.
func TestMain(m *testing.M) {
	os.Exit(openapitest.Public.Main(m, nil, "/traffic/entry", "/.well-known/jwks.json"))
}
