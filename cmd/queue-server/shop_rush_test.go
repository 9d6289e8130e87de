package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// comer is one of a rush, who does what a browser and the page do.
type comer struct {
	site, who string
	client    *http.Client
	// token is the newest; "" for one who was let in without a wait.
	token string
	// late is how long after it was due the latest poll was answered.
	late time.Duration
}

// rushTransport is that of all comers.
func rushTransport(t *testing.T) http.RoundTripper {
	t.Helper()
	// The site is on this machine.
	all := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 64}
	t.Cleanup(all.CloseIdleConnections)
	return all
}

// arrives opens the site, which leads into it or to the page.
func (c *comer) arrives(ctx context.Context, through http.RoundTripper) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	c.client = &http.Client{Transport: through, Jar: jar, Timeout: patience}
	status, body, err := c.opens(ctx, "/?who="+c.who)
	if err != nil || c.inside(body) {
		return err
	}
	page, err := url.Parse(c.site + "/wait/RUSH")
	if err != nil {
		return err
	}
	for _, held := range jar.Cookies(page) {
		if held.Name == "waitingroom-RUSH" {
			_, c.token, _ = strings.Cut(held.Value, ".")
		}
	}
	if c.token == "" {
		return fmt.Errorf("%s has no place: %d %s", c.who, status, body)
	}
	return nil
}

// opens asks for a page, again as long as the gate is slow.
func (c *comer) opens(ctx context.Context, path string) (status int, body []byte, err error) {
	for {
		if status, body, err = c.send(ctx, http.MethodGet, path, nil); status != http.StatusServiceUnavailable {
			return status, body, err
		}
		select {
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// inside reports whether it is the site that answered.
func (c *comer) inside(body []byte) bool {
	return bytes.Contains(body, []byte("<h1>GET /?who="+c.who+"</h1>"))
}

func (c *comer) send(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.site+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if method == http.MethodGet {
		req.Header.Set("Sec-Fetch-Mode", "navigate")
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(res.Body)
	_ = res.Body.Close() // read to its end
	return res.StatusCode, answer, err
}

// poll asks whether it is the visitor's turn, as the page does.
func (c *comer) poll(ctx context.Context) (a told, err error) {
	body, err := json.Marshal(map[string]string{"zoneId": "RUSH", "token": c.token})
	if err != nil {
		return a, err
	}
	status, answer, err := c.send(ctx, http.MethodPost, "/traffic/entry", body)
	switch {
	case err != nil:
	case status == http.StatusOK:
		err = json.Unmarshal(answer, &a)
		c.token = a.Token
	case status == http.StatusServiceUnavailable: // on a busy machine
		a.Waiting.PollingPeriod = 1000
	default:
		err = fmt.Errorf("%s: %d %s", c.who, status, answer)
	}
	return a, err
}

// waits polls when told to, and shows the pass to the site.
func (c *comer) waits(ctx context.Context) error {
	if c.token == "" {
		return nil
	}
	for due := time.Now(); ; {
		a, err := c.poll(ctx)
		if err != nil {
			return err
		}
		c.late = max(c.late, time.Since(due))
		if a.CanEnter {
			_, body, err := c.opens(ctx, "/?who="+c.who+"&waiting_room_pass="+a.Admission.Pass)
			if err == nil && !c.inside(body) {
				err = fmt.Errorf("%s is not in the shop: %s", c.who, body)
			}
			return err
		}
		period := time.Duration(a.Waiting.PollingPeriod) * time.Millisecond
		due = time.Now().Add(period)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(period):
		}
	}
}

// aRush: 300 come faster than they are let in, and three browsers among them. All are let in as
// they came, and never more than the limit.
func (s *shop) aRush(t *testing.T, b *browser) {
	t.Helper()
	site, through := s.before(t, "RUSH"), rushTransport(t)
	waiting, ctx := errgroup.WithContext(t.Context())
	var all []*comer
	var browsers []*customer
	// The first are so many that there is a line for as long as a browser takes to come.
	for i, batch := range []int{200, 50, 50} {
		arriving, _ := errgroup.WithContext(ctx)
		for range batch {
			c := &comer{site: site, who: fmt.Sprint(len(all))}
			all = append(all, c)
			arriving.Go(func() error { return c.arrives(ctx, through) })
		}
		must(t, arriving.Wait())
		for _, c := range all[len(all)-batch:] {
			waiting.Go(func() error { return c.waits(ctx) })
		}
		c := s.customer(t, b, site)
		c.opens(fmt.Sprintf("/?who=browser%d", i))
		// On a machine so busy that the line is gone meanwhile, it is in the shop.
		c.until(t, "the line", `/^You are in line$|^GET/.test(document.querySelector("h1")?.textContent)`)
		// What it holds says afterwards when it was let in.
		held := value[string](t, c.browser, `document.cookie.split("; ").find((c) => c.startsWith("waitingroom-RUSH=")) ?? ""`)
		_, held, _ = strings.Cut(held, ".")
		all = append(all, &comer{site: site, client: all[0].client, who: "browser " + fmt.Sprint(i), token: held})
		browsers = append(browsers, c)
	}
	for i, c := range browsers {
		c.sees(fmt.Sprintf("GET /?who=browser%d", i))
	}
	must(t, waiting.Wait())
	s.inOrder(t, all)
}

// rushed is how many are let in a second, and a window.
const rushed = 30

// inOrder wants all to have been let in as they arrived, by what the room says of each, and no
// more than the limit in any second.
func (s *shop) inOrder(t *testing.T, all []*comer) {
	t.Helper()
	// place is when one arrived, in microseconds, and was let in, in milliseconds.
	type place struct {
		who               string
		arrived, admitted int64
	}
	var places []place
	late := time.Duration(0)
	for _, c := range all {
		if c.token == "" {
			continue // let in at once
		}
		at, err := s.keys.Verify("RUSH", c.token)
		must(t, err)
		a, err := c.poll(t.Context())
		must(t, err)
		places, late = append(places, place{c.who, at.ArrivedAtMicros, a.Admission.AdmittedAt}), max(late, c.late)
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.arrived, b.arrived) })
	most, who := 0, ""
	for i, p := range places {
		n := 0
		for _, later := range places[i+1:] {
			if later.admitted < p.admitted {
				n++
			}
		}
		if n > most {
			most, who = n, p.who
		}
	}
	t.Logf("%d of %d waited; %s was overtaken by %d; polls were up to %v late", len(places), len(all), who, most, late.Round(time.Millisecond))
	// Two windows' worth, and as many more as come while a busy machine is late.
	if bound := 2*rushed + int(rushed*late.Seconds()); most > bound {
		t.Errorf("%s was overtaken by %d, want at most %d", who, most, bound)
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.admitted, b.admitted) })
	for i := range max(0, len(places)-rushed) {
		if took := places[i+rushed].admitted - places[i].admitted; took < 1000 {
			t.Errorf("%d were let in within %d ms", rushed+1, took)
		}
	}
}
