package openapitest_test

import (
	"testing"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
)

func TestDocumentsAreValid(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]*openapitest.Document{
		"public": openapitest.Public, "operators": openapitest.Operators, "limits": openapitest.Limits, "site": openapitest.Site,
	} {
		if ops, err := d.Operations(); err != nil || len(ops) == 0 {
			t.Errorf("%s: %v %v", name, ops, err)
		}
	}
}
