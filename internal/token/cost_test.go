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

// BenchmarkVerifyGarbage is what an attacker can make the server spend.
func BenchmarkVerifyGarbage(b *testing.B) {
	keys := newKeys(b, 1, 2)
	tok := keys.Sign("OTHER_ZONE", place)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := keys.Verify(testZone, tok); err == nil {
			b.Fatal("verified")
		}
	}
}

func BenchmarkVerifyParallel(b *testing.B) {
	keys := newKeys(b, 1, 2)
	tok := keys.Sign(testZone, place)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := keys.Verify(testZone, tok); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkVisitorID(b *testing.B) {
	keys := newKeys(b, 1, 2)
	b.ReportAllocs()
	for b.Loop() {
		keys.VisitorID(testZone, "customer-4711")
	}
}
