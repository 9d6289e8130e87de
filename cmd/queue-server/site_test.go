package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/operate/cli"
)

// shopZone admits everybody whom a test sends.
const shopZone = "zones:\n  - {zoneId: SHOP, perMinute: 6000, burst: 100}\n"

func TestSiteIsOffByDefault(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, shopZone)})
	if s.site != "" {
		t.Errorf("the site's listener at %s", s.site)
	}
	for _, at := range []string{s.public, s.operators} {
		if got := request(t, http.MethodGet, at+"/site/SHOP", "", "X-Forwarded-Uri", "/"); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", at, got.status)
		}
	}
}

// TestSiteListener: what the handlers do, package site's tests hold; this is that they are wired.
func TestSiteListener(t *testing.T) {
	s := start(t, map[string]string{
		"QUEUE_CONFIG": config(t, shopZone), "QUEUE_SITE_ADDR": "127.0.0.1:0", "QUEUE_SITE_ROOM_URL": "https://queue.shop.example",
		"QUEUE_TRUSTED_PROXIES": "127.0.0.1", "QUEUE_LIMITS_ADDR": "127.0.0.1:0",
	})
	ask := func(more ...string) reply {
		return request(t, http.MethodGet, s.site+"/site/SHOP", "", append([]string{"X-Forwarded-Uri", "/cart", "X-Forwarded-For", "203.0.113.9"}, more...)...)
	}
	admitted := ask("Sec-Fetch-Mode", "navigate")
	held, _, _ := strings.Cut(admitted.header.Get("Set-Cookie"), ";")
	if admitted.status != http.StatusOK || !strings.HasPrefix(held, "waitingroom_session-SHOP=") {
		t.Fatalf("a newcomer: %+v", admitted)
	}
	if got := ask("Cookie", held); got.status != http.StatusOK {
		t.Errorf("with the cookie: %+v", got)
	}
	s.admin(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":0}`)
	if got := ask("X-Forwarded-For", "203.0.113.10"); got.status != http.StatusTooManyRequests || !strings.Contains(got.body, "https://queue.shop.example/traffic/wait") {
		t.Errorf("an app in a pause, without a session: %+v", got)
	}
	s.admin(t, http.MethodPatch, "/admin/zones/SHOP", `{"mode":"closed"}`)
	if got := ask("Cookie", held); got.status != http.StatusOK {
		t.Errorf("inside a closed zone: %+v", got)
	}
	metrics := request(t, http.MethodGet, s.operators+"/metrics", "").body
	for _, want := range []string{
		`queue_site_requests_total{outcome="session",zone="SHOP"} 2`,
		`queue_site_requests_total{outcome="admitted",zone="SHOP"} 1`, `queue_connections_open{listener="site"}`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics do not say %s", want)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/openapi.yaml"} {
		if got := request(t, http.MethodGet, s.site+path, ""); got.status != http.StatusOK {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

// TestControlCharacters: a visitor whose browser sends one in a header gets the answers of any other. In a body one is refused.
func TestControlCharacters(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, shopZone), "QUEUE_SITE_ADDR": "127.0.0.1:0", "QUEUE_TRUSTED_PROXIES": "127.0.0.1"})
	body := `{"zoneId":"SHOP","clientAgent":"` + "\x01" + `"}`
	post := fmt.Sprintf("POST /traffic/wait HTTP/1.1\r\nHost: a\r\nX-Odd: \x1b[0m\r\nContent-Length: %d\r\n\r\n", len(body))
	get := func(path string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: a\r\nUser-Agent: a\x01\x7f\xff\tb\r\nX-Forwarded-For: 203.0.113.9\r\nX-Original-URI: /\r\n" +
			"Sec-Fetch-Mode: navigate\r\nX-Waiting-Room-Pass: \x00\r\nCookie: a=\x02\r\n\r\n"
	}
	for at, steps := range map[string]map[string]int{s.site: {get("/site/SHOP"): 200}, s.public: {get("/wait/SHOP"): 303, post + body: 400}} {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(at, "http://"))
		must(t, err)
		must(t, c.SetDeadline(time.Now().Add(time.Minute)))
		answers := bufio.NewReader(c)
		for range 2 { // on one connection
			for ask, want := range steps {
				_, err := io.WriteString(c, ask)
				must(t, err)
				res, err := http.ReadResponse(answers, nil)
				must(t, err)
				text, err := io.ReadAll(res.Body)
				must(t, errors.Join(err, res.Body.Close()))
				if res.StatusCode != want || want == 400 && !strings.Contains(string(text), "invalid_request") {
					t.Errorf("%q: %d %.200s", ask, res.StatusCode, text)
				}
			}
		}
		must(t, c.Close())
	}
}

// TestManyCookies: the waiting page of a site gets all that the site's own pages get.
func TestManyCookies(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, shopZone), "QUEUE_SITE_ADDR": "127.0.0.1:0"})
	cookies := "basket=" + strings.Repeat("b", 30<<10)
	for _, to := range []string{s.site + "/site/SHOP", s.public + "/wait/SHOP?to=/healthz"} {
		if got := request(t, http.MethodGet, to, "", "Cookie", cookies, "Sec-Fetch-Mode", "navigate", "X-Forwarded-Uri", "/cart"); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", to, got.status, got.body)
		}
	}
}

func TestRoomURL(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"": true, "https://queue.shop.example": true, "http://localhost:8080": true, "https://queue.shop.example/": true,
		"https://shop.example/room": false, // its page would set cookies for, and ask below, paths that are the shop's
		"queue.shop.example":        false, "//queue.shop.example": false, "https://": false, "ftp://x": false, "https://x/?a": false,
		"https://x/#a": false, "https://a@x": false, "https://x/\"": false, "javascript:x": false,
	} {
		if err := checkRoomURL(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestGatewayExamples: what the examples of deploy have gateways ask for is there. Those of nginx and Caddy run in
// e2e/gateway, too.
func TestGatewayExamples(t *testing.T) {
	s := start(t, map[string]string{
		"QUEUE_CONFIG": config(t, shopZone+apiPolicy), "QUEUE_SITE_ADDR": "127.0.0.1:0", "QUEUE_LIMITS_ADDR": "127.0.0.1:0",
	})
	for name, tt := range map[string]struct {
		listener string
		asks     string // what stands in the file, before the path
		more     string // what the gateway puts behind the path
	}{
		"limits/traefik.yaml":             {s.limits, "address: http://127.0.0.1:8082", ""},
		"limits/envoy.yaml":               {s.limits, "path_prefix: ", "/orders?a=1"},
		"limits/nginx.conf":               {s.limits, "proxy_pass http://limits", ""},
		"site/traefik.yaml":               {s.site, "address: http://127.0.0.1:8083", ""},
		"kubernetes/traefik.yaml":         {s.site, "address: http://queue-server-gate.default.svc:8083", ""},
		"site/envoy.yaml":                 {s.site, "path_prefix: ", "/orders?a=1"},
		"site/include/waiting-room.caddy": {s.site, "rewrite ", ""},
		"site/include/server.conf":        {s.site, "proxy_pass http://queue_gate", ""},
	} {
		text, err := io.ReadAll(deployed(t, name))
		must(t, err)
		for d := yaml.NewDecoder(bytes.NewReader(text)); strings.HasSuffix(name, ".yaml"); {
			if err := d.Decode(new(map[string]any)); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		_, rest, found := strings.Cut(string(text), tt.asks)
		path := strings.NewReplacer(";", "", "$waiting_room_zone", "SHOP", "{args[0]}", "SHOP").Replace(strings.Fields(rest)[0])
		header := []string{"Sec-Fetch-Mode", "navigate"}
		if tt.more == "" {
			header = append(header, "X-Forwarded-Uri", "/orders")
		}
		if got := request(t, http.MethodGet, tt.listener+path+tt.more, "", header...); !found || got.status != http.StatusOK {
			t.Errorf("%s: %s: %d %s", name, path, got.status, got.body)
		}
	}
}

// TestTheFiveMinutes: the commands of docs/integrate/site.md do what they say, one after the other.
func TestTheFiveMinutes(t *testing.T) {
	text, err := os.ReadFile("../../docs/integrate/site.md")
	must(t, err)
	_, steps, _ := strings.Cut(string(text), "## nginx, in five minutes")
	steps, _, _ = strings.Cut(steps, "\n## ")
	s := start(t, map[string]string{"QUEUE_SITE_ADDR": "127.0.0.1:0", "QUEUE_TRUSTED_PROXIES": "127.0.0.1"})
	env := map[string]string{"QUEUE_ADMIN_URL": s.operators, "QUEUE_ADMIN_TOKEN": operatorToken, "USER": "olga"}
	led := map[string]int{"create": http.StatusOK, "set": http.StatusOK, "pause": http.StatusUnauthorized, "resume": http.StatusOK}
	for _, command := range regexp.MustCompile("`queue-server (zones [^`]+)`").FindAllStringSubmatch(steps, -1) {
		args := strings.Fields(strings.ReplaceAll(command[1], "'", ""))
		if got := runToEnd(t, env, args...); got.status != cli.ExitOK {
			t.Fatalf("%s: %+v", command[1], got)
		}
		want, ok := led[args[1]]
		got := request(t, http.MethodGet, s.site+"/site/SHOP", "", "X-Original-URI", "/", "Sec-Fetch-Mode", "navigate")
		if !ok || got.status != want {
			t.Errorf("after %s the gate says %d, want %d", command[1], got.status, want)
		}
		delete(led, args[1])
	}
	if len(led) > 0 {
		t.Errorf("docs/integrate/site.md no longer says how to: %v", led)
	}
}
