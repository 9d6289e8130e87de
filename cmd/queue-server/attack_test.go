package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestNothingOfTheOperatorsIsPublic: whatever of theirs is asked for on the public port,
// and however it is written, there is nothing.
func TestNothingOfTheOperatorsIsPublic(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, oneSlot)})
	for _, path := range []string{
		"/", "/admin", "/admin/zones", "/admin/zones/TEST_ZONE", "/admin/audit", "/admin/limits", "/console", "/console/login",
		"/metrics", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/vars", "/limits/joins-zone/check", "/favicon.ico",
		"//admin/zones", "/./admin/zones", "/traffic/../admin/zones", "/%61dmin/zones", "/ADMIN/zones", "/admin/zones/", "/admin%2fzones",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut} {
			got := s.raw(t, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
				method, path, operatorToken))
			if !strings.HasPrefix(got, "HTTP/1.1 404 ") {
				t.Errorf("%s %s: %.200q", method, path, got)
			}
		}
	}
}

// raw sends text to the public port, and returns all that comes back.
func (s *server) raw(t *testing.T, text string) string {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.public, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, conn)
	if _, err := io.WriteString(conn, text); err != nil {
		return err.Error() // hung up before the end
	}
	got, err := io.ReadAll(conn)
	if err != nil && len(got) == 0 {
		return err.Error()
	}
	return string(got)
}

// TestBodiesThatAreNone: each is refused, as soon as that is clear, and takes no place.
func TestBodiesThatAreNone(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, "zones:\n  - {zoneId: TEST_ZONE, perMinute: 0}\n")})
	const join = `{"zoneId":"TEST_ZONE"}`
	padded := func(n int) string { return join[:len(join)-1] + `,"clientAgent":"` + strings.Repeat("x", n) + `"}` }
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := io.WriteString(w, join); err != nil {
		t.Fatal(err)
	}
	closing(t, w)
	sized := func(body string, header ...string) string {
		return fmt.Sprintf("POST /traffic/wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s",
			len(body), strings.Join(header, ""), body)
	}
	chunked := func(body string, header ...string) string {
		return fmt.Sprintf("POST /traffic/wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n",
			strings.Join(header, ""), len(body), body)
	}
	for name, tt := range map[string]struct {
		text   string
		status []string
	}{
		"9 KB":              {sized(padded(9 << 10)), []string{"413"}},
		"9 KB in chunks":    {chunked(padded(9 << 10)), []string{"413"}},
		"4 MB in chunks":    {chunked(padded(4 << 20)), []string{"413", "write", "read"}}, // hung up on while it sends
		"4 MB announced":    {strings.Replace(sized(join), fmt.Sprintf("Length: %d", len(join)), "Length: 4194304", 1), []string{"413"}},
		"1,900 deep":        {sized(join[:len(join)-1] + `,"x":` + strings.Repeat("[", 1900) + strings.Repeat("]", 1900) + "}"), []string{"400"}},
		"compressed":        {sized(zipped.String(), "Content-Encoding: gzip\r\n"), []string{"400"}},
		"a mark in front":   {sized("\ufeff" + join), []string{"400"}},
		"two lengths":       {sized(join, "Content-Length: 3\r\n"), []string{"400"}},
		"a length of words": {sized(join, "Content-Length: +22\r\n"), []string{"400"}},
		"chunks and chunks": {chunked(join, "Transfer-Encoding: chunked\r\n"), []string{"400", "501"}},
		"an odd encoding":   {chunked(join, "Transfer-Encoding: identity\r\n"), []string{"400", "501"}},
		"no host":           {"POST /traffic/wait HTTP/1.1\r\nContent-Length: 22\r\n\r\n" + join, []string{"400"}},
		"a folded header":   {sized(join, "X: a\r\n b\r\nContent-Length : 3\r\n"), []string{"400"}},
	} {
		got := s.raw(t, tt.text)
		if !slices.ContainsFunc(tt.status, func(status string) bool {
			return strings.HasPrefix(strings.TrimPrefix(got, "HTTP/1.1 "), status)
		}) {
			t.Errorf("%s: %.300q, want %v", name, got, tt.status)
		}
	}
	if got := s.admin(t, http.MethodGet, "/admin/zones/TEST_ZONE/stats", ""); got.value(t, "waiting") != 0.0 {
		t.Errorf("somebody took a place: %s", got.body)
	}
	// With a length and chunks the chunks count, and what follows is no second request.
	smuggled := s.raw(t, "POST /traffic/wait HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"+
		fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(join), join)+"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(smuggled, "HTTP/1.1 200 ") && !strings.HasPrefix(smuggled, "HTTP/1.1 400 ") || strings.Contains(smuggled, "ok\n") && strings.Count(smuggled, "HTTP/1.1") != 2 {
		t.Errorf("a length and chunks: %.300q", smuggled)
	}
}

// TestParallelPollsGetOnePass: who polls fifty times in the moment of admission, before
// its time and after, is told of one admission by all of them.
func TestParallelPollsGetOnePass(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, "zones:\n  - {zoneId: TEST_ZONE, perMinute: 60, windowSeconds: 1}\n")})
	request(t, http.MethodPost, s.public+"/traffic/wait", `{"zoneId":"TEST_ZONE"}`)
	tok, _ := request(t, http.MethodPost, s.public+"/traffic/wait", `{"zoneId":"TEST_ZONE"}`).value(t, "token").(string)
	body := fmt.Sprintf(`{"zoneId":"TEST_ZONE","token":%q}`, tok)
	passes := map[string]int{}
	for deadline := time.Now().Add(patience); len(passes) == 0 && time.Now().Before(deadline); {
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				got := request(t, http.MethodPost, s.public+"/traffic/entry", body)
				if got.status == http.StatusOK && got.value(t, "canEnter") == true {
					p, _ := got.value(t, "admission", "pass").(string)
					mu.Lock()
					defer mu.Unlock()
					passes[p]++
				}
			})
		}
		all.Wait()
	}
	if got := request(t, http.MethodPost, s.public+"/traffic/entry", body); got.status == http.StatusOK {
		p, _ := got.value(t, "admission", "pass").(string)
		passes[p]++
	}
	if len(passes) != 1 {
		t.Errorf("%d passes: %v", len(passes), passes)
	}
	if got := s.admin(t, http.MethodGet, "/admin/zones/TEST_ZONE/stats", ""); got.value(t, "totals", "admitted") != 2.0 {
		t.Errorf("want the first and this one admitted: %s", got.body)
	}
}

// TestNobodyFillsTheMemory: after 5,000 zones that do not exist and 20,000 joins that are
// refused the server has the memory that it had before, and no line of its log was
// written by a visitor.
func TestNobodyFillsTheMemory(t *testing.T) {
	s := start(t, map[string]string{
		"QUEUE_CONFIG": config(t, "zones:\n  - {zoneId: TEST_ZONE, maxWaiting: 1}\n"), "QUEUE_TRUSTED_PROXIES": "127.0.0.0/8",
	})
	const evil = "x\\n{\\\"level\\\":\\\"ERROR\\\",\\\"msg\\\":\\\"forged\\\"}\\u001b[2J"
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 8, MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	send := func(from, path, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.public+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0
		}
		if from != "" {
			req.Header.Set("X-Forwarded-For", from)
		}
		req.Header.Set("User-Agent", "x\t{\"level\":\"ERROR\",\"msg\":\"forged\"}")
		res, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return 0
		}
		_, err = io.Copy(io.Discard, res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			t.Error(err)
		}
		return res.StatusCode
	}
	flood := func(zones, joins int) {
		var all sync.WaitGroup
		for part := range 8 {
			all.Go(func() {
				for n := part; n < zones; n += 8 {
					if status := send("", "/traffic/wait", fmt.Sprintf(`{"zoneId":"INVENTED-%d"}`, n)); status != http.StatusNotFound {
						t.Errorf("an invented zone: %d", status)
					}
					send("", "/traffic/entry", fmt.Sprintf(`{"zoneId":"%s%d","token":"%s"}`, evil, n, evil))
				}
				for n := part; n < joins; n += 8 {
					send("203.0.113.9", "/traffic/wait", `{"zoneId":"TEST_ZONE","clientAgent":"`+evil+`"}`)
				}
			})
		}
		all.Wait()
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // pools are emptied at the second
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	flood(500, 2_000)
	before := heap()
	flood(5_000, 20_000)
	if after := heap(); after > before+4<<20 {
		t.Errorf("%d KB before, %d KB after", before>>10, after>>10)
	}
	for line := range strings.Lines(s.log.text()) {
		var message struct {
			Msg string `json:"msg"`
		}
		if err := json.Unmarshal([]byte(line), &message); err != nil || message.Msg == "forged" {
			t.Errorf("a line of the log: %v %q", err, line)
		}
	}
	if got := request(t, http.MethodGet, s.operators+"/metrics", ""); strings.Contains(got.body, "INVENTED") || strings.Contains(got.body, "forged") {
		t.Error("the metrics have a series for each invented zone")
	}
}
