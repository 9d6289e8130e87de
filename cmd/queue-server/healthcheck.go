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
	var alive bool
	command := &cobra.Command{
		Use: "healthcheck", Short: "Ask a server on this machine whether it is ready; exit status 0 if so.", Args: cobra.NoArgs,
		Long: "Ask a server on this machine whether it is ready: whether it wants traffic (/readyz). Exit status 0 if so.\n\n" +
			"An engine that replaces what fails its check must ask --alive: while Redis is away, no server is ready,\n" +
			"and all would be replaced at once, with what they remember.",
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
			return askHealth(cmd.Context(), s.Addr, path)
		},
	}
	addFlags(command, &s)
	command.Flags().BoolVar(&alive, "alive", false, "Ask only whether it answers at all (/healthz).")
	return command
}

// askHealth asks a server of this machine, and fails unless the answer is 200.
func askHealth(ctx context.Context, addr, path string) error {
	ctx, cancel := context.WithTimeout(ctx, healthcheckTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+serve.LocalAddr(addr)+path, http.NoBody)
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
		return fmt.Errorf("healthcheck: %s: %s", path, res.Status)
	}
	return nil
}
