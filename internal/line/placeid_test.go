package line_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/line"
)

func TestPlaceID(t *testing.T) {
	t.Parallel()
	id := line.ID{0xf0, 0xe1, 0xd2, 0xc3, 0xb4, 0xa5, 0x96, 0x87}
	text := id.PlaceID()
	if text != "Y3GX5GXMMPB8E0" {
		t.Errorf("the id is %s", text)
	}
	for _, heard := range []string{text, strings.ToLower(text), text[:5] + "-" + text[5:10] + " " + text[10:]} {
		if got, err := line.ParsePlaceID(heard); err != nil || got != id {
			t.Errorf("%s: %v, %v", heard, got, err)
		}
	}
	if got, err := line.ParsePlaceID(strings.NewReplacer("0", "o", "1", "l").Replace(line.ID{}.PlaceID())); err != nil || got != (line.ID{}) {
		t.Errorf("letters for digits: %v, %v", got, err)
	}
}

// TestPlaceIDIsChecked changes every character of ids, and exchanges neighbours.
func TestPlaceIDIsChecked(t *testing.T) {
	t.Parallel()
	for n := range uint64(50) {
		var id line.ID
		binary.BigEndian.PutUint64(id[:], n*0x9e3779b97f4a7c15)
		text := id.PlaceID()
		wrong := []string{"", text[1:], text + "0", strings.Repeat("0", 1000), "é" + text[2:]}
		for i := range text {
			for _, c := range "0123456789ABCDEFGHJKMNPQRSTVWXYZU*" {
				if byte(c) != text[i] {
					wrong = append(wrong, text[:i]+string(c)+text[i+1:])
				}
			}
			if pair := text[max(0, i-1) : i+1]; i > 0 && pair[0] != pair[1] && pair != "0Z" && pair != "Z0" {
				wrong = append(wrong, text[:i-1]+string(pair[1])+string(pair[0])+text[i+1:])
			}
		}
		for _, w := range wrong {
			if got, err := line.ParsePlaceID(w); !errors.Is(err, line.ErrPlaceID) {
				t.Fatalf("%q is taken for %v, whose id is %s: %v", w, got, got.PlaceID(), err)
			}
		}
	}
}
