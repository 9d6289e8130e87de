package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// certificateAge is how often the files are looked at. A program that renews a certificate writes its two files within
// moments: a pair that does not match is read again after that time.
const certificateAge = time.Second

// certificate is the certificate that a listener with TLS shows. It is read again when one of its files changes.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	pair    *tls.Certificate
	looked  time.Time
	written [2]time.Time // when each file was written, of the pair or of what was refused last
}

// openCertificate reads a certificate with its chain, and its key, both PEM.
func openCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c, nil
}

// read reads the files if one of them was written since.
func (c *certificate) read() error {
	var written [2]time.Time
	for i, name := range []string{c.certFile, c.keyFile} {
		about, err := os.Stat(name)
		if err != nil {
			return err
		}
		written[i] = about.ModTime()
	}
	if written == c.written {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.pair, c.written = &pair, written
	return nil
}

// config is that of a listener: TLS 1.2 or later, HTTP/2 and HTTP/1.1.
func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if time.Since(c.looked) >= certificateAge {
			c.looked = time.Now()
			if err := c.read(); err != nil {
				c.log.Error("the certificate cannot be read again: the listener goes on with the one that it has", "file", c.certFile, "error", err)
			}
		}
		return c.pair, nil
	}}
}

// checkCertificate returns what is wrong with the two settings.
func checkCertificate(certFile, keyFile string) error {
	switch {
	case certFile == "" && keyFile == "":
		return nil
	case certFile == "":
		return errors.New("has no certificate: name its file in QUEUE_TLS_CERT_FILE")
	case keyFile == "":
		return errors.New("has no key: name its file in QUEUE_TLS_KEY_FILE")
	}
	if _, err := tls.LoadX509KeyPair(certFile, keyFile); err != nil {
		return fmt.Errorf("%s and %s are no certificate and its key: %w", certFile, keyFile, err)
	}
	return nil
}

// showing is for a client that asks a server of this machine: it trusts the certificate of the files alone, whatever its names and
// its authority.
func showing(certFile, keyFile string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	c.RootCAs.AddCert(pair.Leaf)
	if len(pair.Leaf.DNSNames) > 0 {
		c.ServerName = strings.Replace(pair.Leaf.DNSNames[0], "*", "any", 1)
	}
	return c, nil
}
