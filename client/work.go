package client

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/scrypt"
)

// Challenge is what the room asks for before it gives a place.
type Challenge struct {
	// Kind is "work", which Wait does by itself, or the provider of a token: "turnstile", "hcaptcha" or "recaptcha".
	Kind string `json:"kind"`
	// Reason is why the room asks: "required", or what was wrong with the solution before.
	Reason string `json:"reason"`
	// SiteKey and Action are for the provider's widget.
	SiteKey string `json:"siteKey"`
	Action  string `json:"action"`

	// Parameters are sent back as they came: the room has signed them.
	Parameters json.RawMessage `json:"parameters"`
	Signature  string          `json:"signature"`
}

// mostChallenges is how many challenges in a row are met.
const mostChallenges = 5

// meet returns what a join has to show; "" where this client cannot meet the challenge.
func (o Options) meet(ctx context.Context, c *Challenge) (string, error) {
	switch {
	case c.Kind == "work":
		return c.solve(ctx)
	case o.OnChallenge != nil:
		return o.OnChallenge(ctx, *c)
	}
	return "", nil
}

// solve does the work on all cores: it looks for a counter of which scrypt derives a key that begins with the prefix, as ALTCHA
// (version 2) has it.
func (c *Challenge) solve(ctx context.Context) (string, error) {
	var p struct {
		Cost        int    `json:"cost"`
		MemoryCost  int    `json:"memoryCost"`
		Parallelism int    `json:"parallelism"`
		KeyLength   int    `json:"keyLength"`
		KeyPrefix   string `json:"keyPrefix"`
		Nonce       string `json:"nonce"`
		Salt        string `json:"salt"`
	}
	if err := json.Unmarshal(c.Parameters, &p); err != nil {
		return "", fmt.Errorf("waiting room: challenge: %w", err)
	}
	nonce, err := hex.DecodeString(p.Nonce)
	if err != nil {
		return "", fmt.Errorf("waiting room: challenge: nonce: %w", err)
	}
	salt, err := hex.DecodeString(p.Salt)
	if err != nil {
		return "", fmt.Errorf("waiting room: challenge: salt: %w", err)
	}
	ctx, found := context.WithCancelCause(ctx)
	defer found(nil)
	step := uint32(min(runtime.GOMAXPROCS(0), math.MaxUint8)) // at most 255
	solutions := make(chan uint32, step)
	var cores sync.WaitGroup
	for first := range step {
		cores.Go(func() {
			for counter := first; ctx.Err() == nil; counter += step {
				key, err := scrypt.Key(binary.BigEndian.AppendUint32(slices.Clip(nonce), counter), salt, p.Cost, p.MemoryCost, p.Parallelism, p.KeyLength)
				switch {
				case err != nil:
					found(fmt.Errorf("waiting room: challenge: %w", err))
				case strings.HasPrefix(hex.EncodeToString(key), p.KeyPrefix):
					solutions <- counter
					found(nil)
				}
			}
		})
	}
	cores.Wait()
	select {
	case counter := <-solutions:
		shown, err := json.Marshal(map[string]any{
			"challenge": map[string]any{"parameters": c.Parameters, "signature": c.Signature},
			"solution":  map[string]any{"counter": counter},
		})
		return base64.StdEncoding.EncodeToString(shown), err
	default:
		return "", context.Cause(ctx)
	}
}
