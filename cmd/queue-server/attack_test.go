package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
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
		"9 KB":            {sized(padded(9 << 10)), []string{"413"}},
		"9 KB in chunks":  {chunked(padded(9 << 10)), []string{"413"}},
		"4 MB in chunks":  {chunked(padded(4 << 20)), []string{"413", "write", "read"}}, // hung up on while it sends
		"4 MB announced":  {strings.Replace(sized(join), fmt.Sprintf("Length: %d", len(join)), "Length: 4194304", 1), []string{"413"}},
		"1,900 deep":      {sized(join[:len(join)-1] + `,"x":` + strings.Repeat("[", 1900) + strings.Repeat("]", 1900) + "}"), []string{"400"}},
		"compressed":      {sized(zipped.String(), "Content-Encoding: gzip\r\n"), []string{"400"}},
		"a mark in front": {sized("\ufeff" + join), []string{"400"}},
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
}

// TestVisitorsWriteNothing: visitors who invent zones write no line of the log and no series of the metrics, and after 5,000
// zones the server has the memory that it had before.
func TestVisitorsWriteNothing(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, oneSlot)})
	const evil = "x\\n{\\\"level\\\":\\\"ERROR\\\",\\\"msg\\\":\\\"forged\\\"}\\u001b[2J"
	flood := func(from, upTo int) {
		var all sync.WaitGroup
		for part := range 2 { // as many connections are kept open
			all.Go(func() {
				for n := from + part; n < upTo; n += 2 {
					for path, body := range map[string]string{
						"/traffic/wait":  fmt.Sprintf(`{"zoneId":"INVENTED-%d","clientAgent":"%s"}`, n, evil),
						"/traffic/entry": fmt.Sprintf(`{"zoneId":"%s%d","token":"%s"}`, evil, n, evil),
					} {
						if got := request(t, http.MethodPost, s.public+path, body, "User-Agent", "x\t{\"msg\":\"forged\"}"); got.status/100 != 4 {
							t.Errorf("%s: %+v", path, got)
						}
					}
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
	flood(0, 500)
	before := heap()
	flood(500, 5_500)
	if after := heap(); after > before+4<<20 {
		t.Errorf("%d KB before, %d KB after", before>>10, after>>10)
	}
	if log := s.log.text(); strings.Contains(log, "forged") || strings.Contains(log, "INVENTED") {
		t.Errorf("the log:\n%s", log)
	}
	if got := request(t, http.MethodGet, s.operators+"/metrics", ""); strings.Contains(got.body, "INVENTED") || strings.Contains(got.body, "forged") {
		t.Error("the metrics have a series for each invented zone")
	}
}
