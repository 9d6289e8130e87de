package policyset_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
)

// TestMain fails if the tests did not get every answer of the API's description, or leave
// goroutines running.
func TestMain(m *testing.M) {
	const never = "it falls back on what is remembered, so that only a panic is left"
	status := openapitest.Operators.Main(m, map[string]string{
		"GET /admin/limits 500 internal_error":        never,
		"GET /admin/limits/{name} 500 internal_error": never,
	}, "/admin/limits", "/admin/limits/{name}", "/admin/limits/{name}/stats")
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}
