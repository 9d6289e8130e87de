package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/operate/cli"
)

// scraperToken opens /metrics alone.
const scraperToken = "Vb3nJw7Xq2Lc6TyKd8PsGx4R"

// Profiles say what a process is at, and with what arguments: for operators only.
func TestProfilesWantTheOperatorsToken(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_METRICS_TOKEN": scraperToken})
	for path, want := range map[string]int{
		"/debug/pprof/": 200, "/debug/pprof/cmdline": 200, "/debug/pprof/goroutine?debug=1": 200, "/debug/pprof/heap": 200,
		"/debug/pprof/symbol": 200, "/debug/pprof/trace?seconds=0.01": 200, "/debug/nothing": 404,
	} {
		if got := s.admin(t, "GET", path, ""); got.status != want {
			t.Errorf("%s: %d, want %d", path, got.status, want)
		}
	}
	for _, path := range []string{
		"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap", "/debug/pprof/profile",
		"/debug/pprof/trace", "/debug/pprof/symbol", "/debug/pprof/none", "/debug/nothing", "/%64ebug/pprof/cmdline", "/debug/%70prof/cmdline",
	} {
		if got := request(t, "GET", s.operators+path, ""); got.status != 401 || got.value(t, "code") != "unauthorized" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		// The metrics' token opens the metrics; here it is a guess.
		if got := request(t, "GET", s.operators+path, "", "Authorization", "Bearer "+scraperToken); got.status != 401 && got.status != 429 {
			t.Errorf("%s with the metrics' token: %d %s", path, got.status, got.body)
		}
	}
	if got := request(t, "POST", s.operators+"/debug/pprof/symbol", "0x1"); got.status != 401 {
		t.Errorf("POST without a token: %d", got.status)
	}
}

func TestWhoMayReadMetrics(t *testing.T) {
	tests := []struct {
		name                string
		access, scraper     string
		addr                string
		none, scrape, admin int
	}{
		{"on this machine", "auto", "", "127.0.0.1:0", 200, 200, 200},
		{"on this machine, IPv6", "auto", "", "[::1]:0", 200, 200, 200},
		{"with a token of its own", "auto", scraperToken, "127.0.0.1:0", 401, 200, 200},
		{"reached from elsewhere", "auto", "", "0.0.0.0:8081", 401, 401, 200},
		{"reached from elsewhere, with a token of its own", "auto", scraperToken, "10.0.0.5:8081", 401, 200, 200},
		{"open to all", "open", "", "0.0.0.0:8081", 200, 200, 200},
		{"open to all, whatever else", "open", scraperToken, "0.0.0.0:8081", 200, 200, 200},
		{"for a token", "token", "", "127.0.0.1:0", 401, 401, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, _ := testRooms(t, nil)
			s := checked{settings: settings{MetricsAccess: tt.access}, given: given{metricsToken: tt.scraper}}
			var err error
			r.entrance, err = openEntrance(s, keys{adminToken: operatorToken}, tt.addr, nil, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			h := openapitest.Operators.Handler(t, r.operators())
			for token, want := range map[string]int{"": tt.none, scraperToken: tt.scrape, operatorToken: tt.admin} {
				if status := get(h, "/metrics", token); status != want {
					t.Errorf("token %q: %d, want %d", token, status, want)
				}
			}
			for _, path := range []string{"/admin/zones", "/debug/pprof/cmdline"} {
				if status := get(h, path, scraperToken); status != http.StatusUnauthorized {
					t.Errorf("%s with the metrics' token: %d", path, status)
				}
			}
		})
	}
}

// get asks a handler with a token, unless that is empty, and returns the status.
func get(h http.Handler, path, token string) int {
	req := httptest.NewRequest(http.MethodGet, "http://localhost"+path, http.NoBody)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w.Code
}

// A page of the internet may have its name lead to 127.0.0.1, and ask there from
// an operator's browser.
func TestALoopbackListenerAnswersOnlyAsItself(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_ADMIN_HOSTS": "queue.example"})
	port := s.operators[strings.LastIndex(s.operators, ":"):]
	ask := func(host, path string) reply {
		return request(t, http.MethodGet, s.operators+path, "", "Host", host, "Authorization", "Bearer "+operatorToken)
	}
	for _, host := range []string{"evil.example", "evil.example" + port, "localhost.evil.example", "10.0.0.5" + port} {
		for _, path := range []string{"/", "/console/", "/console/login", "/admin/zones", "/metrics", "/openapi.yaml", "/debug/pprof/", "/nothing"} {
			if got := ask(host, path); got.status != http.StatusMisdirectedRequest || got.value(t, "code") != "host_unknown" {
				t.Errorf("%s for %s: %d %s", path, host, got.status, got.body)
			}
		}
	}
	// The other end of a tunnel has a port of its own.
	for _, host := range []string{"localhost" + port, "127.0.0.1" + port, "[::1]" + port, "localhost:9000", "queue.example", "queue.example:443"} {
		for path, want := range map[string]int{"/admin/zones": 200, "/console/login": 200, "/metrics": 200, "/nothing": 404} {
			if got := ask(host, path); got.status != want {
				t.Errorf("%s for %s: %d %s", path, host, got.status, got.body)
			}
		}
	}
	if got := request(t, "GET", s.operators+"/metrics", ""); !strings.Contains(got.body, `code="host_unknown"`) {
		t.Error("nothing of it is counted")
	}
}

func TestSecretsComeFromFiles(t *testing.T) {
	dir := t.TempDir()
	keep := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const second = "another secret of 32 bytes or more"
	files := map[string]string{
		"QUEUE_SECRET_FILE":        keep("queue-server.secret", goodSecret+"\n"+second, 0o600),
		"QUEUE_ADMIN_TOKEN_FILE":   keep("queue-server.admin-token", operatorToken, 0o640),
		"QUEUE_METRICS_TOKEN_FILE": keep("queue-server.metrics-token", scraperToken, 0o644),
	}
	s, src := parse(t, files)
	c, err := s.check(src.where, src.file)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.secrets) != 2 || string(c.secrets[1]) != second || c.adminToken != operatorToken || c.metricsToken != scraperToken {
		t.Errorf("got %+v", c.given)
	}
	files["QUEUE_ADMIN_TOKEN"], files["QUEUE_DATA_DIR"] = "", t.TempDir()
	server := start(t, files)
	if got := server.admin(t, "GET", "/admin/zones", ""); got.status != http.StatusOK {
		t.Errorf("the token of the file: %d", got.status)
	}
	if warned := server.log.await(t, "others on this machine may read"); warned["file"] != files["QUEUE_METRICS_TOKEN_FILE"] {
		t.Errorf("warned of %v", warned)
	}
	if strings.Contains(server.log.text(), "made a secret") {
		t.Error("a secret was made")
	}
}

func TestASecretInAFileForEverybodyStopsTheStart(t *testing.T) {
	for _, key := range []string{"secret: " + goodSecret, "admin-token: " + operatorToken, "metrics-token: " + scraperToken} {
		file := config(t, "# settings\n"+key+"\n")
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
		name, value, _ := strings.Cut(key, ": ")
		got := runToEnd(t, map[string]string{"QUEUE_CONFIG": file, "QUEUE_DATA_DIR": "no-folder-is-made"})
		if got.status != cli.ExitUsage || !strings.Contains(got.errOut, "queue.yaml:2: "+name+": the file may be read by others") ||
			!strings.Contains(got.errOut, "chmod o= "+file) || strings.Contains(got.errOut, value) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// Settings that are no secrets are for everybody.
	file := config(t, "admin-token-file: /run/token\nlog-level: debug\n")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if s, _ := parse(t, map[string]string{"QUEUE_CONFIG": file}); s.AdminTokenFile != "/run/token" {
		t.Errorf("%+v", s)
	}
}
