package browser

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
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/openqueue/waitingroom/e2e/room"
)

// comer is one of a rush, who does what a browser and the page do.
type comer struct {
	site, who string
	client    *http.Client
	// token is the newest; "" for one who was let in without a wait.
	token string
	// came is when it set out. late is how long its polls were answered after they were due, together.
	came time.Time
	late time.Duration
}

// rushTransport is that of all comers.
func rushTransport(t *testing.T) http.RoundTripper {
	t.Helper()
	// The site is on this machine.
	// So many connections at once as nginx and the gate serve in time on any machine: who has to
	// shake hands first is slow, and who waits for a connection is not.
	const connections = 16
	all := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections,
	}
	t.Cleanup(all.CloseIdleConnections)
	return all
}

// arrives opens the site, which leads into it or to the page.
func (c *comer) arrives(ctx context.Context, through http.RoundTripper) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	c.client, c.came = &http.Client{Transport: through, Jar: jar}, time.Now()
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
		if err := pause(ctx, time.Second); err != nil {
			return 0, nil, err
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

// poll asks whether it is the visitor's turn, as the page does: again, as long as the store is slow.
func (c *comer) poll(ctx context.Context) (a room.Told, err error) {
	body, err := json.Marshal(map[string]string{"zoneId": "RUSH", "token": c.token})
	if err != nil {
		return a, err
	}
	for {
		status, answer, err := c.send(ctx, http.MethodPost, "/traffic/entry", body)
		switch {
		case err != nil:
			return a, err
		case status == http.StatusOK:
			err = json.Unmarshal(answer, &a)
			c.token = a.Token
			return a, err
		case status != http.StatusServiceUnavailable:
			return a, fmt.Errorf("%s: %d %s", c.who, status, answer)
		}
		if err := pause(ctx, time.Second); err != nil {
			return a, err
		}
	}
}

// waits polls when told to, and shows the pass to the site.
func (c *comer) waits(ctx context.Context) error {
	if c.token == "" {
		return nil
	}
	for due := c.came; ; {
		a, err := c.poll(ctx)
		if err != nil {
			return err
		}
		c.late += time.Since(due)
		if a.CanEnter {
			_, body, err := c.opens(ctx, "/?who="+c.who+"&waiting_room_pass="+a.Admission.Pass)
			if err == nil && !c.inside(body) {
				err = fmt.Errorf("%s is not in the shop: %s", c.who, body)
			}
			return err
		}
		period := time.Duration(a.Waiting.PollingPeriod) * time.Millisecond
		due = time.Now().Add(period)
		if err := pause(ctx, period); err != nil {
			return err
		}
	}
}

// pause waits, unless there is nothing to wait for any more.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// aRush: 300 come faster than they are let in, and three browsers among them. All are let in as
// they came, and never more than the limit.
func (s *shop) aRush(t *testing.T, b *browser) {
	t.Helper()
	site, through := s.before(t, "RUSH"), rushTransport(t)
	waiting, ctx := errgroup.WithContext(t.Context())
	var all, waited []*comer
	var browsers []*customer
	// The first are so many that there is a line for as long as a browser takes to come.
	for i, batch := range []int{200, 50, 50} {
		var arriving sync.WaitGroup
		arriving.Add(batch)
		for range batch {
			c := &comer{site: site, who: fmt.Sprint(len(all))}
			all = append(all, c)
			waiting.Go(func() error {
				err := c.arrives(ctx, through)
				arriving.Done()
				if err != nil {
					return err
				}
				return c.waits(ctx)
			})
		}
		arriving.Wait()
		c := s.customer(t, b, site)
		c.opens(fmt.Sprintf("/?who=browser%d", i))
		// On a machine so busy that the line is gone meanwhile, it is in the shop.
		c.until(t, "the line", `/^You are in line$|^GET/.test(document.querySelector("h1")?.textContent)`)
		// What it holds says afterwards when it was let in.
		held := value[string](t, c.browser, `document.cookie.split("; ").find((c) => c.startsWith("waitingroom-RUSH=")) ?? ""`)
		_, held, _ = strings.Cut(held, ".")
		waited = append(waited, &comer{site: site, client: all[0].client, who: "browser " + fmt.Sprint(i), token: held})
		browsers = append(browsers, c)
	}
	for i, c := range browsers {
		c.sees(fmt.Sprintf("GET /?who=browser%d", i))
	}
	must(t, waiting.Wait())
	s.inOrder(t, all, waited)
}

// rushed is how many are let in a second, and a window.
const rushed = 30

// inOrder wants all to have been let in as they arrived, by what the room says of each, and no
// more than the limit in any second. Browsers count for the limit alone: how late their polls were,
// nobody can tell.
func (s *shop) inOrder(t *testing.T, all, browsers []*comer) {
	t.Helper()
	// place is when one arrived, in microseconds, and was let in, in milliseconds.
	type place struct {
		who               string
		arrived, admitted int64
		browser           bool
	}
	var places []place
	late := time.Duration(0)
	for i, c := range slices.Concat(all, browsers) {
		if c.token == "" {
			continue // let in at once
		}
		at, err := s.keys.Verify("RUSH", c.token)
		must(t, err)
		a, err := c.poll(t.Context())
		must(t, err)
		if !a.CanEnter {
			t.Errorf("%s was let in, and has no admission", c.who)
		}
		places = append(places, place{c.who, at.ArrivedAtMicros, a.Admission.AdmittedAt, i >= len(all)})
		late = max(late, c.late)
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.arrived, b.arrived) })
	most, who := 0, ""
	for i, p := range places {
		if p.browser {
			continue
		}
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
