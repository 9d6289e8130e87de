package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/cli"
	"github.com/openqueue/waitingroom/internal/serve"
)

const (
	// readyTimeout is how long the store may take to say that it is there:
	// longer than any call that a visitor would wait for.
	readyTimeout = 500 * time.Millisecond
	// readyMaxAge lets any number of balancers ask without load on the store.
	readyMaxAge = 200 * time.Millisecond
	// healthcheckTimeout is above what /readyz takes to give up on the store, and
	// below the timeouts that container engines have for a check.
	healthcheckTimeout = 2 * time.Second
)

// errDraining: the server goes on answering, but wants no new connections.
var errDraining = errors.New("draining")

// health knows whether this server should get traffic.
type health struct {
	ping     func(context.Context) error
	now      func() time.Time
	draining atomic.Bool

	mu   sync.Mutex
	at   time.Time // of the latest ping
	last error
	// reached: the store has answered once, so this server's secrets are those of the others.
	reached bool
}

func newHealth(ping func(context.Context) error) *health { return &health{ping: ping, now: time.Now} }

// awaitStore asks until the store has answered once, or ctx ends: a server that nobody asked while the store was there must not
// seem never to have reached it.
func (h *health) awaitStore(ctx context.Context) {
	for {
		_, _ = h.ready(ctx)
		h.mu.Lock()
		reached := h.reached
		h.mu.Unlock()
		if reached {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// drain has ready refuse from now on.
func (h *health) drain() { h.draining.Store(true) }

// ready returns nil as err if this server should get traffic: its own part works, and its secrets are those of the others.
// away is then the error of a store that does not answer: visitors keep their places and are told when to come again,
// which every server says as well as another. Else err is errDraining, or why it must not serve what is in the store.
// Callers at the same time share one ping.
func (h *health) ready(ctx context.Context) (away, err error) {
	if h.draining.Load() {
		return nil, errDraining
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at.IsZero() || h.now().Sub(h.at) >= readyMaxAge {
		// The answer is for all who ask, so it does not end with one of them.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
		defer cancel()
		h.last = h.ping(ctx)
		h.at = h.now()
		h.reached = h.reached || h.last == nil
	}
	if !h.reached || errors.Is(h.last, line.ErrSecrets) || errors.Is(h.last, line.ErrFormat) {
		return nil, h.last
	}
	return h.last, nil
}

// healthcheckCommand is queue-server healthcheck, for images without a shell.
func healthcheckCommand(t *cli.Terminal) *cobra.Command {
	var s struct {
		Config string `setting:"QUEUE_CONFIG" placeholder:"FILE" help:"The server's YAML file."`
		Addr   string `setting:"QUEUE_ADDR" default:":8080" help:"The server's public listener."`
		Cert   string `setting:"QUEUE_TLS_CERT_FILE" placeholder:"FILE" help:"The server's certificate, if it has one: it is asked by TLS."`
		Key    string `setting:"QUEUE_TLS_KEY_FILE" placeholder:"FILE" help:"The key of that certificate."`
	}
	var alive bool
	command := &cobra.Command{
		Use: "healthcheck", Short: "Ask a server on this machine whether it is ready; exit status 0 if so.", Args: cobra.NoArgs,
		Long: "Ask a server on this machine whether it is ready: whether it wants traffic (/readyz). Exit status 0 if so.\n\n" +
			"An engine that replaces what fails its check must ask --alive: a server that drains, or that starts while\n" +
			"Redis is away, is not ready, and is well.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			src := newSources(t.Getenv)
			if err := src.fill(cmd.Flags()); err != nil {
				return err
			}
			if err := serve.CheckAddr(s.Addr); err != nil {
				return cli.Usage("%s: %w", src.where("addr"), err)
			}
			path := "/readyz"
			if alive {
				path = "/healthz"
			}
			url := "http://" + serve.LocalAddr(s.Addr) + path
			var shows *tls.Config
			if s.Cert != "" {
				var err error
				if shows, err = showing(s.Cert, s.Key); err != nil {
					return cli.Usage("%s: %w", src.where("tls-cert-file"), err)
				}
				url = "https" + strings.TrimPrefix(url, "http")
			}
			return askHealth(cmd.Context(), url, shows)
		},
	}
	addFlags(command, &s)
	command.Flags().BoolVar(&alive, "alive", false, "Ask only whether it answers at all (/healthz).")
	return command
}

// askHealth asks a server of this machine, and fails unless the answer is 200.
func askHealth(ctx context.Context, url string, shows *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, healthcheckTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	// A transport of its own: it must ask this machine, whatever proxy is set.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: shows}}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	_, err = io.Copy(io.Discard, io.LimitReader(res.Body, maxHeaderBytes))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("healthcheck: %s: %s", url, res.Status)
	}
	return nil
}
