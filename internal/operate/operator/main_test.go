package operator_test

import (
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/line"
)

// paths are those of the room.
var paths = []string{
	"/admin/zones", "/admin/zones/{zoneId}", "/admin/zones/{zoneId}/stats", "/admin/zones/{zoneId}/history", "/admin/audit",
}

// TestMain wants the tests to have got every answer that is described.
func TestMain(m *testing.M) {
	os.Exit(openapitest.Operators.Main(m, nil, paths...))
}

// TestEveryOperationCanFail asks everything of a store that fails, without the
// token, and from another site's page.
func TestEveryOperationCanFail(t *testing.T) {
	t.Parallel()
	operations, err := openapitest.Operators.Operations()
	parts.Must(t, err)
	for _, op := range operations {
		method, path, _ := strings.Cut(op, " ")
		if !slices.Contains(paths, path) {
			continue
		}
		path = strings.ReplaceAll(path, "{zoneId}", "Z")
		for _, tt := range []struct {
			name    string
			err     error
			headers []string
			before  int // as many times the same was sent before
			want    int
		}{
			{"the store is away", line.ErrStoreUnavailable, nil, 0, http.StatusServiceUnavailable},
			{"the store is out of its mind", errors.New("the secret is hunter2"), nil, 0, http.StatusInternalServerError},
			{"no token", nil, []string{"Authorization", ""}, 9, http.StatusUnauthorized},
			{"a wrong token", nil, []string{"Authorization", "Bearer guess"}, 4, http.StatusUnauthorized},
			{"another wrong token", nil, []string{"Authorization", "Bearer guess"}, 5, http.StatusTooManyRequests},
			{"another site", nil, []string{"Sec-Fetch-Site", "cross-site"}, 0, http.StatusForbidden},
		} {
			if tt.want == http.StatusForbidden && method == http.MethodGet {
				continue // which changes nothing
			}
			r := newRoom(t)
			r.store.Fail(tt.err)
			for range tt.before {
				r.send(method, path, `{}`, tt.headers...)
			}
			w := r.send(method, path, `{}`, tt.headers...)
			if w.Code != tt.want || strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("%s, %s: got %d %s", op, tt.name, w.Code, w.Body)
			}
		}
	}
}
