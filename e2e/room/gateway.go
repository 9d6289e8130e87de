package room

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Others are texts of an example of deploy, such as addresses, and what the test has in their place. Each text stands in
// the example once.
type Others map[string]string

// mainConf is what nginx needs around a site, to run as anybody and in one process.
const mainConf = `daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log stderr warn;
events { worker_connections 4096; }
http {
    access_log off;
    client_body_temp_path %[1]s/body;
    proxy_temp_path %[1]s/proxy;
    fastcgi_temp_path %[1]s/fastcgi;
    uwsgi_temp_path %[1]s/uwsgi;
    scgi_temp_path %[1]s/scgi;
    include %[1]s/site.conf;
}
`

// StartNginx starts nginx with an example of deploy, and returns where it listens, host:port. By TLS if there is a file
// with a certificate and its key.
func StartNginx(t testing.TB, example string, others Others, certificate string) (addr string) {
	t.Helper()
	return StartNginxOf(t, deployed(t, example), others, certificate)
}

// StartNginxOf is StartNginx with the text of an example.
func StartNginxOf(t testing.TB, example string, others Others, certificate string) (addr string) {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil { // Debian keeps it where not everybody's PATH leads to
		program = "/usr/sbin/nginx"
	}
	dir, addr := t.TempDir(), FreeAddr(t)
	listen := "listen " + addr
	if certificate != "" {
		listen += " ssl; ssl_certificate " + certificate + "; ssl_certificate_key " + certificate
	}
	conf := filepath.Join(dir, "nginx.conf")
	Write(t, filepath.Join(dir, "site.conf"), others.in(t, example, "listen 80;", listen+";"))
	Write(t, conf, fmt.Sprintf(mainConf, dir))
	return StartListener(t, addr, &process.Process{Name: program, Dir: dir, Args: []string{"-p", dir, "-e", "stderr", "-c", conf}})
}

// StartCaddyOf starts Caddy with the text of an example, and returns where it listens, host:port. By TLS if there is a file with a certificate and its key.
func StartCaddyOf(t testing.TB, example string, others Others, certificate string) (addr string) {
	t.Helper()
	dir, addr := t.TempDir(), FreeAddr(t)
	site := "http://" + addr + " {"
	if certificate != "" {
		site = "https://" + addr + " {\n\ttls " + certificate + " " + certificate
	}
	file := filepath.Join(dir, "Caddyfile")
	// Nothing of this machine's, and no certificates.
	Write(t, file, "{\n\tadmin off\n\tpersist_config off\n\tauto_https disable_redirects\n}\n"+others.in(t, example, "shop.example {", site))
	return StartListener(t, addr, &process.Process{
		Name: Tool(t, "CADDY"), Args: []string{"run", "--config", file, "--adapter", "caddyfile"}, Dir: dir,
		Env: append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir),
	})
}

// NginxSite starts nginx with the example of a site behind the gate of a zone, and what the command line exports for it. The zone is
// made if it is not there. away is what happens while no server runs: hold or enter.
func (s *Server) NginxSite(t testing.TB, zoneID, away string, others Others, certificate string) (addr string) {
	t.Helper()
	dir, choice := s.Export(t, zoneID, "nginx"), "set $waiting_room_away "+away+";"
	all := Others{
		"include waiting-room/http.conf;": "include " + dir + "/http.conf;", "include waiting-room/server.conf;": "include " + dir + "/server.conf;",
		"# " + choice: choice, "set $waiting_room_zone SHOP;": "set $waiting_room_zone " + zoneID + ";",
		"server 127.0.0.1:8083;": "server " + strings.TrimPrefix(s.Site, "http://") + ";",
		"server 127.0.0.1:8080;": "server " + strings.TrimPrefix(s.Public, "http://") + ";",
	}
	maps.Copy(all, others)
	return StartNginx(t, "site/nginx.conf", all, certificate)
}

// CaddySite is NginxSite with Caddy.
func (s *Server) CaddySite(t testing.TB, zoneID, away string, others Others, certificate string) (addr string) {
	t.Helper()
	all := Others{
		"import waiting-room/waiting-room.caddy": "import " + s.Export(t, zoneID, "caddy") + "/waiting-room.caddy",
		"import waiting_room SHOP CHOOSE":        "import waiting_room " + zoneID + " " + away,
		"to 127.0.0.1:8083":                      "to " + strings.TrimPrefix(s.Site, "http://"),
		"to 127.0.0.1:8080":                      "to " + strings.TrimPrefix(s.Public, "http://"),
	}
	maps.Copy(all, others)
	return StartCaddyOf(t, deployed(t, "site/Caddyfile"), all, certificate)
}

// Export has the command line write what a gateway includes into a folder, which is returned.
func (s *Server) Export(t testing.TB, zoneID, gateway string) (dir string) {
	t.Helper()
	if !s.knows(t.Context(), zoneID) {
		s.Put(t, zone.Defaults(zoneID))
	}
	dir = t.TempDir()
	env := map[string]string{"QUEUE_ADMIN_URL": s.Operators, "QUEUE_ADMIN_TOKEN": OperatorToken}
	if status, said := Run(t, env, "page", "export", zoneID, dir, "--for", gateway); status != 0 {
		t.Fatalf("page export: %d %s", status, said)
	}
	return dir
}

// StartListener starts a program of the test, and waits until it listens on an address, which is returned.
func StartListener(t testing.TB, addr string, p *process.Process) string {
	t.Helper()
	if err := Adopt(t, p).StartUntil(context.Background(), func() bool { // it outlives the test's context
		c, err := new(net.Dialer).DialContext(context.Background(), "tcp", addr)
		if err == nil {
			_ = c.Close() // it was there
		}
		return err == nil
	}); err != nil {
		t.Fatal(err)
	}
	return addr
}

// deployed returns the text of an example.
func deployed(t testing.TB, example string) string {
	t.Helper()
	return Read(t, filepath.Join(root, "deploy", example))
}

// in returns the text of an example with the others, and one more.
func (o Others) in(t testing.TB, text, was, is string) string {
	t.Helper()
	all := []string{was, is}
	for was, is := range o {
		all = append(all, was, is)
	}
	for i := 0; i < len(all); i += 2 {
		if strings.Count(text, all[i]) != 1 {
			t.Fatalf("the example has not one %q", all[i])
		}
	}
	return strings.NewReplacer(all...).Replace(text)
}
