package zones_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// TestEarlyAnswersSayAll: what one who waits is told, an answer from memory
// says, too. Else a field would come and go with the time at which a visitor polls.
func TestEarlyAnswersSayAll(t *testing.T) {
	t.Parallel()
	z, err := zones.New(zones.Options{Seeds: []zone.Settings{zone.Defaults("Z")}}).Find(t.Context(), "Z")
	parts.Must(t, err)
	var told line.Told
	fill := func(v reflect.Value) {
		for _, field := range v.Fields() {
			if field.Kind() == reflect.Int64 {
				field.SetInt(5_000)
			}
		}
	}
	fill(reflect.ValueOf(&told).Elem())
	fill(reflect.ValueOf(&told.Answer).Elem())
	told.Place, told.Reason, told.State = line.Place{ArrivedAtMicros: 1}, line.Faster, line.State{NowMillis: 1, Waiting: 5}
	said, remembered := members(t, told), members(t, zones.EarlyAnswer(z, told))
	for name, value := range said {
		if value != nil && !reflect.ValueOf(value).IsZero() && (remembered[name] == nil || reflect.ValueOf(remembered[name]).IsZero()) {
			t.Errorf("cache.go: an early answer has no %s: keep it in entry (keep), and give it (answer)", name)
		}
	}
	if len(said) < 6 {
		t.Errorf("only %v", said)
	}
}

// members are what one who waits is told of the place.
func members(t *testing.T, a line.Told) (all map[string]any) {
	t.Helper()
	out := struct {
		Waiting map[string]any `json:"waiting"`
	}{}
	told := answer.Answer{ZoneID: "Z", Token: "T", Line: a}
	parts.Must(t, json.Unmarshal(told.AppendJSON(nil), &out))
	return out.Waiting
}
