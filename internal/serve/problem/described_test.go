package problem_test

import (
	"testing"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/serve/problem"
)

// TestEveryProblemIsDescribed: the table and the examples of the OpenAPI documents
// have the same problems, word for word.
func TestEveryProblemIsDescribed(t *testing.T) {
	t.Parallel()
	kinds := problem.Kinds()
	described := make(map[string]bool)
	for name, d := range map[string]*openapitest.Document{
		"public": openapitest.Public, "operators": openapitest.Operators, "limits": openapitest.Limits, "site": openapitest.Site,
	} {
		problems, err := d.Problems()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			described[p.Code] = true
			want := kinds[p.Code]
			if want.Detail == "" {
				want.Detail = p.Detail // the error's own words
			}
			got := problem.Kind{
				Code: p.Code, Title: p.Title, Detail: p.Detail, Type: p.Type, Status: p.Status,
				RetryMin: p.RetryMin, RetryMax: p.RetryMax, Challenge: p.Challenge,
			}
			if got.RetryMin <= want.RetryMin && got.RetryMax >= want.RetryMax && want.RetryMin > 0 {
				// Several problems share a status and its header.
				got.RetryMin, got.RetryMax = want.RetryMin, want.RetryMax
			}
			if p.RetryOptional && want.RetryMin == 0 {
				got.RetryMin, got.RetryMax = 0, 0
			}
			if got != want {
				t.Errorf("%s describes\n%+v, the table has\n%+v", name, got, want)
			}
		}
	}
	for code := range kinds {
		if !described[code] {
			t.Errorf("%s is described in no document", code)
		}
	}
}
