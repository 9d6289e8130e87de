package guard_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/line"
)

// TestEarlyAnswersSayAll: what the store says to one who waits, an answer from memory
// says, too. Else a field would come and go with the time at which a visitor polls.
func TestEarlyAnswersSayAll(t *testing.T) {
	t.Parallel()
	r, v := newRoom(t), visitor(1)
	for name, field := range reflect.ValueOf(&r.store.says).Elem().Fields() {
		switch own := []string{"Restored", "Local", "Early"}; {
		case field.Kind() == reflect.Bool && !slices.Contains(own, name.Name):
			field.SetBool(true)
		case field.Kind() == reflect.Int64 && field.IsZero():
			field.SetInt(1)
		}
	}
	r.passes("", 0, v)
	early := r.early("", 2*time.Second, v)
	said, remembered := members(t, r.store.says), members(t, early)
	for name, value := range said {
		if value != nil && !reflect.ValueOf(value).IsZero() && (remembered[name] == nil || reflect.ValueOf(remembered[name]).IsZero()) {
			t.Errorf("cache.go: an early answer has no %s: keep it in entry (keep), and give it (answer)", name)
		}
	}
	if len(said) < 5 {
		t.Errorf("only %v", said)
	}
}

// members are what one who waits is told of the place.
func members(t *testing.T, a line.Answer) (all map[string]any) {
	t.Helper()
	out := struct {
		Waiting map[string]any `json:"waiting"`
	}{}
	told := answer.Answer{ZoneID: "Z", Token: "T", Line: a}
	if err := json.Unmarshal(told.AppendJSON(nil), &out); err != nil {
		t.Fatal(err)
	}
	return out.Waiting
}
