package embedded

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

func aBook() limit.PolicySet {
	return limit.PolicySet{}.Put(limit.Policy{
		Name: "a", Rules: []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 1, WindowSeconds: 1}},
	})
}

func TestPoliciesSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutPolicies(t.Context(), aBook(), 0, "Ada"); err != nil {
		t.Fatal(err)
	}
	changes, _ := s.PolicyChanges(t.Context())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openIn(t, dir, nil)
	b, _ := again.Policies(t.Context())
	was, _ := again.PolicyChanges(t.Context())
	if !reflect.DeepEqual(b, aBook()) || len(was) != 1 || !reflect.DeepEqual(was, changes) {
		t.Errorf("%+v, %+v", b, was)
	}
}

func TestADamagedFileOfPoliciesIsNotOverwritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"book":`, `{"book":{"version":1,"policies":[{"name":"a b"}]}}`} {
		dir := t.TempDir()
		path := filepath.Join(dir, policiesName)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), policiesName) {
			t.Errorf("Open: %v", err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("the file is %q, %v", got, err)
		}
	}
}
