package line_test

import (
	"reflect"
	"testing"

	"github.com/openqueue/waitingroom/internal/line"
)

// TestTotalTableHasEveryField: a total that is not in the table would not be shown.
func TestTotalTableHasEveryField(t *testing.T) {
	t.Parallel()
	var totals line.Totals
	v := reflect.ValueOf(&totals).Elem()
	if len(line.TotalTable) != v.NumField() {
		t.Errorf("total.go: %d rows for %d fields of Totals", len(line.TotalTable), v.NumField())
	}
	for i, x := range line.TotalTable {
		f := v.Type().Field(i)
		if x.At(&totals) != v.Field(i).Addr().Interface() || f.Tag.Get("json") != x.Name || x.Words == "" {
			t.Errorf("total.go: row %d is %q, where Totals has %s `%s`: the order is the same, and the name", i+1, x.Name, f.Name, f.Tag)
		}
	}
}

func TestSnake(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"polls": "polls", "missedAppointments": "missed_appointments"} {
		if got := (line.Total{Name: name}).Snake(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestTotalsPlus(t *testing.T) {
	t.Parallel()
	was := line.Totals{Joined: 5, Polls: 9}
	got := was.Plus(line.Totals{Joined: 1, Left: 3}, line.Totals{Joined: 4, Left: 2, Swept: 1})
	if want := (line.Totals{Joined: 8, Swept: 1, Polls: 9}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
