package room

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/process"
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

// StartCaddy starts Caddy with an example of deploy, and returns where it listens, host:port.
func StartCaddy(t testing.TB, example string, others Others) (addr string) {
	t.Helper()
	return StartCaddyOf(t, deployed(t, example), others, "")
}

// StartCaddyOf is StartCaddy with the text of an example. By TLS if there is a file with a certificate and its key.
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
