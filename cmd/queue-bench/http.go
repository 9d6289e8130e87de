package main

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// The shapes of the contract, as a handler would write them down that does nothing else.
type (
	bareRequest struct {
		ZoneID      string `json:"zoneId"`
		Token       string `json:"token"`
		ClientIP    string `json:"clientIp"`
		ClientAgent string `json:"clientAgent"`
		ClientID    string `json:"clientId"`
	}
	bareAnswer struct {
		ZoneID   string      `json:"zoneId"`
		Token    string      `json:"token"`
		CanEnter bool        `json:"canEnter"`
		Waiting  bareWaiting `json:"waiting"`
	}
	bareWaiting struct {
		Position        int64 `json:"position"`
		Total           int64 `json:"total"`
		EstimatedWait   int64 `json:"estimatedWait"`
		PollingPeriod   int64 `json:"pollingPeriod"`
		ArrivedAtMicros int64 `json:"arrivedAtMicros"`
	}
)

// bareToken is as long as one of the waiting room's.
var bareToken = strings.Repeat("A", tokenSize)

// serveBare is the baseline for HTTP: echo as it comes, without a store, a signature, a check, a metric or a time limit.
// It reads the request and gives the answer that a visitor in the middle of a long line gets, byte for byte as long.
func serveBare(ctx context.Context, addr string) error {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	answer := func(c echo.Context) error {
		var in bareRequest
		if err := c.Bind(&in); err != nil {
			return err
		}
		out := bareAnswer{ZoneID: in.ZoneID, Token: in.Token, Waiting: bareWaiting{
			Position: 512_345, Total: 1_000_000, EstimatedWait: 86_400_000, PollingPeriod: 20_000,
			ArrivedAtMicros: 1_795_223_373_123_456,
		}}
		if out.Token == "" { // a join
			out.Token = bareToken
		}
		return c.JSON(http.StatusOK, out)
	}
	e.POST("/traffic/wait", answer)
	e.POST("/traffic/entry", answer)
	e.GET("/readyz", func(c echo.Context) error { return c.String(http.StatusOK, "ready\n") })
	defer context.AfterFunc(ctx, func() { _ = e.Close() })() // there is nothing to lose
	if err := e.Start(addr); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
