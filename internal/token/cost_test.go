package token_test

import "testing"

func BenchmarkSign(b *testing.B) {
	keys := newKeys(b, 1, 2)
	b.ReportAllocs()
	for b.Loop() {
		keys.Sign(testZone, place)
	}
}

func BenchmarkVerify(b *testing.B) {
	keys := newKeys(b, 1, 2)
	tok := keys.Sign(testZone, place)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := keys.Verify(testZone, tok); err != nil {
			b.Fatal(err)
		}
	}
}
