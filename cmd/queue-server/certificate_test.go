package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/operate/cli"
)

// writePair writes a certificate for a name, which signs itself, and its key.
func writePair(t *testing.T, certFile, keyFile, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	must(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600))
	must(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	writePair(t, certFile, keyFile, "first.example")
	s := start(t, map[string]string{"QUEUE_TLS_CERT_FILE": certFile, "QUEUE_TLS_KEY_FILE": keyFile, "QUEUE_CONFIG": config(t, "zones: [{zoneId: Z, perMinute: 600}]")})
	addr := strings.TrimPrefix(s.public, "http://")

	shown := func(most uint16) (string, error) {
		c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, MaxVersion: most})
		if err != nil {
			return "", err
		}
		defer func() { _ = c.Close() }()
		return c.ConnectionState().PeerCertificates[0].DNSNames[0], nil
	}
	if name, err := shown(0); err != nil || name != "first.example" {
		t.Errorf("shown: %q, %v", name, err)
	}
	if _, err := shown(tls.VersionTLS11); err == nil {
		t.Error("TLS 1.1 is spoken")
	}

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	res, err := client.Post("https://"+addr+"/traffic/wait", "application/json", strings.NewReader(`{"zoneId":"Z"}`))
	must(t, err)
	body, err := io.ReadAll(res.Body)
	must(t, err)
	must(t, res.Body.Close())
	if res.StatusCode != http.StatusOK || res.ProtoMajor != 2 {
		t.Errorf("a join: %s over %s: %s", res.Status, res.Proto, body)
	}
	if got := runToEnd(t, map[string]string{"QUEUE_ADDR": addr, "QUEUE_TLS_CERT_FILE": certFile, "QUEUE_TLS_KEY_FILE": keyFile}, "healthcheck"); got.status != cli.ExitOK {
		t.Errorf("the health check: %+v", got)
	}
	// Operators on this machine need none.
	res, err = http.Get(s.operators + "/healthz")
	must(t, err)
	must(t, res.Body.Close())

	// Half of a renewal is no certificate; the whole is shown without a restart.
	must(t, os.WriteFile(keyFile, []byte("half"), 0o600))
	if !process.Soon(t.Context(), patience, process.LookEvery, func() bool {
		name, err := shown(0)
		return err == nil && name == "first.example" && strings.Contains(s.log.text(), "the listener goes on with the one that it has")
	}) {
		t.Error("half of a renewal is shown, or not said to be none")
	}
	writePair(t, certFile, keyFile, "second.example")
	if !process.Soon(t.Context(), patience, process.LookEvery, func() bool {
		name, err := shown(0)
		must(t, err)
		return name == "second.example"
	}) {
		t.Error("what was renewed is not shown")
	}
}
