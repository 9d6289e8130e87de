package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/cli"
	"github.com/openqueue/waitingroom/internal/serve"
)

// healthcheckTimeout is above what /readyz takes to give up on the store, and
// below the timeouts that container engines have for a check.
const healthcheckTimeout = 2 * time.Second

// healthcheckCommand is queue-server healthcheck, for images without a shell.
func healthcheckCommand(t *cli.Terminal) *cobra.Command {
	var s struct {
		Config string `setting:"QUEUE_CONFIG" placeholder:"FILE" help:"The server's YAML file."`
		Addr   string `setting:"QUEUE_ADDR" default:":8080" help:"The server's public listener."`
	}
	command := &cobra.Command{
		Use: "healthcheck", Short: "Ask a server on this machine whether it is ready; exit status 0 if so.", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			src := newSources(t.Getenv)
			if err := src.fill(cmd.Flags()); err != nil {
				return err
			}
			if err := serve.CheckAddr(s.Addr); err != nil {
				return cli.Usage("%s: %w", src.where("addr"), err)
			}
			return askReady(cmd.Context(), s.Addr)
		},
	}
	addFlags(command, &s)
	return command
}

// askReady asks /readyz and fails unless the server is ready.
func askReady(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, healthcheckTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+serve.LocalAddr(addr)+"/readyz", http.NoBody)
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
