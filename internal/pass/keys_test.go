package pass_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/serve/keyset"
)

// secret returns a secret of 32 bytes that depends on n only.
func secret(n int) []byte {
	s := sha256.Sum256(fmt.Appendf(nil, "secret %d", n))
	return s[:]
}

// newSigner returns the signer of the secrets with these numbers, newest first.
func newSigner(t testing.TB, numbers ...int) *pass.Signer {
	t.Helper()
	secrets := make([][]byte, len(numbers))
	for i, n := range numbers {
		secrets[i] = secret(n)
	}
	s, err := pass.NewSigner(pass.DefaultIssuer, secrets...)
	if err != nil {
		t.Fatalf("NewSigner: %v", err)
	}
	return s
}

// privateKey derives, by the book, the key of one secret.
func privateKey(t testing.TB, secret []byte) ed25519.PrivateKey {
	t.Helper()
	seed, err := hkdf.Key(sha256.New, secret, nil, "openqueue/waitingroom/v1 pass key", 32)
	if err != nil {
		t.Fatal(err)
	}
	return ed25519.NewKeyFromSeed(seed)
}

// publicKeys reads the Ed25519 keys of a JWK set as a protected service does that has nothing but
// the standard library. It returns the kids in order, and the keys by kid.
func publicKeys(t testing.TB, jwks []byte) ([]string, map[string]ed25519.PublicKey) {
	t.Helper()
	var set struct {
		Keys []map[string]string `json:"keys"`
	}
	if err := json.Unmarshal(jwks, &set); err != nil {
		t.Fatalf("JWKS %s: %v", jwks, err)
	}
	var kids []string
	keys := make(map[string]ed25519.PublicKey)
	for _, k := range set.Keys {
		if k["alg"] != "EdDSA" {
			continue
		}
		if k["kty"] != "OKP" || k["crv"] != "Ed25519" || k["use"] != "sig" || len(k) != 6 {
			t.Errorf("key %v is not an Ed25519 signing key, or says more", k)
		}
		x, err := base64.RawURLEncoding.DecodeString(k["x"])
		if err != nil || len(x) != ed25519.PublicKeySize {
			t.Fatalf("x of %v: %d bytes, %v", k, len(x), err)
		}
		kids = append(kids, k["kid"])
		keys[k["kid"]] = x
	}
	return kids, keys
}

func TestNewSignerRefuses(t *testing.T) {
	t.Parallel()
	for want, secrets := range map[string][][]byte{
		"none was given": nil,
		"number 1 has 0 bytes, must have at least 32":  {{}},
		"number 2 has 31 bytes, must have at least 32": {secret(1), make([]byte, 31)},
	} {
		if s, err := pass.NewSigner(pass.DefaultIssuer, secrets...); s != nil || !errors.Is(err, pass.ErrSecret) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want ErrSecret with %q", s, err, want)
		}
	}
}

func TestJWKS(t *testing.T) {
	t.Parallel()
	signer := newSigner(t, 2, 1)
	kids, keys := publicKeys(t, signer.JWKS())
	if len(kids) != 2 {
		t.Fatalf("%d keys, want 2", len(kids))
	}
	for i, n := range []int{2, 1} {
		want, ok := privateKey(t, secret(n)).Public().(ed25519.PublicKey)
		if !ok || !keys[kids[i]].Equal(want) {
			t.Errorf("key %d is %x, want %x", i+1, keys[kids[i]], want)
		}
	}
	if again := newSigner(t, 2, 1).JWKS(); !bytes.Equal(again, signer.JWKS()) {
		t.Errorf("two servers publish %s and %s", signer.JWKS(), again)
	}
	if bytes.Contains(signer.JWKS(), []byte(`"d"`)) {
		t.Error("the private key is published")
	}
}

// TestAlgorithms: whichever signs, all verify, and the pass is the same on every server.
func TestAlgorithms(t *testing.T) {
	t.Parallel()
	rsaFile := filepath.Join(t.TempDir(), "pass.pem")
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(rsaFile, block, 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := pass.ReadRSA(rsaFile)
	if err != nil || len(keys) != 1 {
		t.Fatal(keys, err)
	}
	signers := make(map[string]*pass.Signer)
	for _, algorithm := range pass.Algorithms {
		if signers[algorithm], err = (pass.Keys{Algorithms: []string{algorithm}, RSA: keys}).NewSigner(pass.DefaultIssuer, secret(2), secret(1)); err != nil {
			t.Fatal(err)
		}
	}
	for algorithm, signer := range signers {
		again, err := (pass.Keys{Algorithms: []string{algorithm}, RSA: keys}).NewSigner(pass.DefaultIssuer, secret(2), secret(1))
		if err != nil {
			t.Fatal(err)
		}
		text, same := issue(t, signer, grant), issue(t, again, grant)
		if text != same {
			t.Errorf("%s: two servers sign %s and %s", algorithm, text, same)
		}
		if header, _ := parts(t, text); header["alg"] != algorithm {
			t.Errorf("%s: alg is %v", algorithm, header["alg"])
		}
		// Another server may have been told to sign with another already. This one's secret is rotated.
		for other, verifier := range signers {
			if _, err := verifier.Verify(text, during); err != nil {
				t.Errorf("%s, where %s signs: %v", algorithm, other, err)
			}
		}
		if !bytes.Equal(signer.JWKS(), again.JWKS()) || bytes.Contains(signer.JWKS(), []byte(`"d"`)) {
			t.Errorf("%s: published %s", algorithm, signer.JWKS())
		}
	}
	all, err := (pass.Keys{Algorithms: []string{"EdDSA", "RS256", "ES256"}, RSA: keys}).NewSigner(pass.DefaultIssuer, secret(2), secret(1))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		string(all.JWKS()):              {"RSA", "EC", "EC", "OKP", "OKP"},
		string(signers["EdDSA"].JWKS()): {"OKP", "OKP"},
		string(signers["ES256"].JWKS()): {"EC", "EC"},
		string(signers["RS256"].JWKS()): {"RSA"},
	} {
		var set struct {
			Keys []struct {
				Type string `json:"kty"`
			} `json:"keys"`
		}
		if err := json.Unmarshal([]byte(text), &set); err != nil {
			t.Fatal(err)
		}
		var types []string
		for _, one := range set.Keys {
			types = append(types, one.Type)
		}
		if !slices.Equal(types, want) {
			t.Errorf("published are %v, want %v", types, want)
		}
	}
	if read, _, err := keyset.Parse(all.JWKS(), false); err != nil || len(read) != 5 {
		t.Errorf("%d keys are read, %v; want two of EdDSA, two of ES256, one of RS256", len(read), err)
	}
	for name, k := range map[string]pass.Keys{"no RSA key": {Algorithms: []string{"EdDSA", "RS256"}}, "unknown": {Algorithms: []string{"HS256"}}} {
		if _, err := k.NewSigner(pass.DefaultIssuer, secret(1)); !errors.Is(err, pass.ErrKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{"empty": "", "public": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&key.PublicKey)}))} {
		if err := os.WriteFile(rsaFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := pass.ReadRSA(rsaFile); !errors.Is(err, pass.ErrKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	for issuer, want := range map[string]string{
		"https://queue.example": `"jwks_uri":"https://queue.example/.well-known/jwks.json"`, "waitingroom": "", "http://queue.example": "",
	} {
		s, err := pass.NewSigner(issuer, secret(1))
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := s.Discovery(); ok != (want != "") || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s", issuer, text)
		}
	}
}
