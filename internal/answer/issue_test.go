package answer_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestIssuer(t *testing.T) {
	t.Parallel()
	secret := bytes.Repeat([]byte{'s'}, 32)
	tokens, err := token.NewKeys(secret)
	if err != nil {
		t.Fatal(err)
	}
	old, err := token.NewKeys(bytes.Repeat([]byte{'o'}, 32))
	if err != nil {
		t.Fatal(err)
	}
	passes, err := pass.NewSigner(pass.DefaultIssuer, secret)
	if err != nil {
		t.Fatal(err)
	}
	issuer, z := answer.NewIssuer(tokens, passes), zone.Defaults("Z")
	place := line.Place{ID: line.ID{1, 2, 3}, ArrivedAtMicros: 1795223373123456}
	const admitted = 1795223434123

	for status, canEnter := range map[line.Status]bool{
		line.Waiting: false, line.Admitted: true, line.AdmittedBefore: true,
	} {
		a := line.Told{Answer: line.Answer{Status: status, Place: place}}
		if canEnter {
			a.AdmittedAtMillis, a.ExpiresAtMillis = admitted, admitted+300_000
		}
		first, err := issuer.Answer(&z, a)
		if err != nil {
			t.Fatal(err)
		}
		again, err := issuer.Answer(&z, a)
		if err != nil || first != again {
			t.Errorf("%d: got %+v, then %+v, %v", status, first, again, err)
		}
		for _, shown := range []string{first.Token, old.Sign("Z", place)} {
			if renewed, err := issuer.Renew(&z, answer.Held{Token: shown}, a); err != nil || renewed != first {
				t.Errorf("%d: got %+v to %s, want %+v, %v", status, renewed, shown, first, err)
			}
		}
		if first.CanEnter() != canEnter || (first.Pass != "") != canEnter || first.Line != a || first.ZoneID != "Z" {
			t.Errorf("%d: got %+v", status, first)
		}
		if got, err := tokens.Verify("Z", first.Token); err != nil || got != place {
			t.Errorf("%d: token of %+v, %v", status, got, err)
		}
		if canEnter {
			grant, err := passes.Verify(first.Pass, time.UnixMilli(admitted))
			if err != nil || grant.ZoneID != "Z" || grant.ID != place.ID || grant.Local {
				t.Errorf("%d: pass of %+v, %v", status, grant, err)
			}
			a.Local = true
			local, err := issuer.Answer(&z, a)
			if err != nil {
				t.Fatal(err)
			}
			grant, err = passes.Verify(local.Pass, time.UnixMilli(admitted))
			if err != nil || !grant.Local {
				t.Errorf("%d: a local pass of %+v, %v", status, grant, err)
			}
		}
	}

	for _, status := range []line.Status{line.Gone, line.Closed, line.Full, 99} {
		if got, err := issuer.Answer(&z, line.Told{Answer: line.Answer{Status: status, Place: place}}); err == nil {
			t.Errorf("%d: got %+v", status, got)
		}
	}
	if got, err := issuer.Answer(&zone.Settings{ZoneID: "{}"}, line.Told{Answer: line.Answer{Status: line.Admitted, Place: place}}); !errors.Is(err, pass.ErrGrant) {
		t.Errorf("a pass for no zone: got %+v, %v", got, err)
	}
}

// TestOnHold: the reason is that of the zone's settings, for all who have a position.
func TestOnHold(t *testing.T) {
	t.Parallel()
	tokens, err := token.NewKeys(bytes.Repeat([]byte{'s'}, 32))
	if err != nil {
		t.Fatal(err)
	}
	s := zone.Defaults("Z")
	issuer := answer.NewIssuer(tokens, nil)
	for _, tt := range []struct {
		perMinute, position int64
		told, want          line.Reason
	}{
		{0, 7, line.NoReason, line.OnHold},
		{0, 7, line.Slower, line.OnHold},
		{0, 0, line.NoReason, line.NoReason}, // people gather
		{60, 7, line.OnHold, line.NoReason},
		{60, 7, line.Faster, line.Faster},
	} {
		s.PerMinute = tt.perMinute
		a, err := issuer.Answer(&s, line.Told{Reason: tt.told, Answer: line.Answer{Status: line.Waiting, Position: tt.position}})
		if err != nil || a.Line.Reason != tt.want || a.Paused != (tt.perMinute == 0) {
			t.Errorf("%+v: reason %q, paused %v, %v", tt, a.Line.Reason, a.Paused, err)
		}
	}
}
