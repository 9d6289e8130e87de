package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/token"
)

// insiders are the visitors whose sessions are measured.
const insiders = 10_000

// siteReport is what the gate costs a site's requests.
type siteReport struct {
	occasion
	Conns int `json:"conns"`
	// Sessions are answers to those who are inside, beside bare echo.
	Sessions results `json:"sessions"`
}

// Targets are the figures on the gate that have a bound.
func (s *siteReport) Targets() (out []target) {
	for _, name := range []string{onEmbedded, onRedis} {
		out = append(out, target{"HTTP sessions, server on " + name + " / bare echo", s.Sessions.Of(name).Ratio, "", 0.95, true})
	}
	return out
}

// asNginx asks the gate as nginx does for a browser, each time for somebody else who is
// inside.
func asNginx(zoneID string, keys *token.Keys) question {
	now, all := time.Now(), make([]byte, 0, insiders*token.SessionSize)
	for range insiders {
		all = append(all, keys.SignSession(zoneID, token.Session{Admission: uuid.New(), Begun: now, Issued: now, Length: 24 * time.Hour})...)
	}
	mark := strings.Repeat("x", token.SessionSize)
	request := fmt.Sprintf("GET /site/%s HTTP/1.1\r\nHost: queue_gate\r\n"+
		"X-Original-URI: /products/umbrella?color=black\r\nX-Original-Method: GET\r\nX-Original-Host: shop.example\r\n"+
		"X-Original-Proto: https\r\nX-Forwarded-For: 203.0.113.9\r\n"+
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n"+
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-GB,en;q=0.5\r\n"+
		"Accept-Encoding: gzip, deflate, br, zstd\r\nReferer: https://shop.example/\r\nSec-Fetch-Mode: navigate\r\n"+
		"Cookie: basket=4711; __Host-waitingroom-%s=%s\r\n\r\n", zoneID, zoneID, mark)
	return question{
		request: []byte(request), at: strings.Index(request, mark),
		next: func(part []byte) {
			i := rand.IntN(insiders) * token.SessionSize
			copy(part, all[i:i+token.SessionSize])
		},
	}
}

// sessions measures the gate's answers to those who are inside.
func (b *bench) sessions(ctx context.Context) (err error) {
	q := asNginx(benchZone, b.keys)
	b.inside.Sessions, err = b.contestLoads(ctx, b.contenders, func(c *contender) (load, error) {
		l := b.load(c, q)
		l.addr = cmp.Or(c.site, l.addr)
		return l, nil
	})
	return err
}
