package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// healthcheckTimeout is above what /readyz takes to give up on the store, and
// below the timeouts that container engines have for a check.
const healthcheckTimeout = 2 * time.Second

// healthcheckCommand is queue-server healthcheck, for images without a shell.
type healthcheckCommand struct {
	Config string `setting:"QUEUE_CONFIG" placeholder:"FILE" complete:"file" help:"The server's YAML file."`
	Addr   string `setting:"QUEUE_ADDR" default:":8080" help:"The server's public listener."`
}

// Run asks /readyz and fails unless the server is ready.
func (c *healthcheckCommand) Run(ctx context.Context, src *sources) error {
	if err := checkAddr(c.Addr); err != nil {
		return usageError{fmt.Errorf("%s: %w", src.where("addr"), err)}
	}
	ctx, cancel := context.WithTimeout(ctx, healthcheckTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachable(c.Addr)+"/readyz", http.NoBody)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	// A transport of its own: it must ask this machine, whatever proxy is set.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	_, err = io.Copy(io.Discard, io.LimitReader(res.Body, maxHeaderBytes))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("healthcheck: not ready: %s", res.Status)
	}
	return nil
}

// reachable returns where to reach a listener on this machine.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "":
		host = "127.0.0.1"
	case err == nil && ip.IsUnspecified() && ip.Is4():
		host = "127.0.0.1"
	case err == nil && ip.IsUnspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, port)
}
