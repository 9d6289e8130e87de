package room

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/openqueue/waitingroom/internal/check/process"
)

// Gateway is nginx or Caddy before a site, with one of the examples that users copy.
type Gateway struct {
	*process.Process
	// Addr is where it listens, host:port.
	Addr string
}

// Others are texts of an example, such as addresses, and what the test has in their place.
// Each text stands in the example once.
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

// NewNginx prepares nginx with an example, that keeps its files in dir. By TLS if there is a
// file with a certificate and its key.
func NewNginx(ctx context.Context, dir, example string, others Others, certificate string) (*Gateway, error) {
	program, err := exec.LookPath("nginx")
	if err != nil { // Debian keeps it where not everybody's PATH leads to
		program, err = exec.LookPath("/usr/sbin/nginx")
	}
	if err != nil {
		return nil, fmt.Errorf("there is no nginx, scripts/install-debian.sh nginx: %w", err)
	}
	addr, err := process.FreeAddr(ctx)
	if err != nil {
		return nil, err
	}
	listen := "listen " + addr
	if certificate != "" {
		listen += " ssl; ssl_certificate " + certificate + "; ssl_certificate_key " + certificate
	}
	site, err := others.in(example, "listen 80;", listen+";")
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"site.conf": site, "nginx.conf": fmt.Sprintf(mainConf, dir)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	args := []string{"-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf")}
	return &Gateway{&process.Process{Name: program, Args: args, Dir: dir}, addr}, nil
}

// NewCaddy prepares a program that is Caddy with an example, which keeps its files in dir.
func NewCaddy(ctx context.Context, program, dir, example string, others Others) (*Gateway, error) {
	addr, err := process.FreeAddr(ctx)
	if err != nil {
		return nil, err
	}
	site, err := others.in(example, "shop.example {", "http://"+addr+" {")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "Caddyfile")
	// Nothing of this machine's, and no certificates.
	if err := os.WriteFile(file, []byte("{\n\tadmin off\n\tpersist_config off\n}\n"+site), 0o600); err != nil {
		return nil, err
	}
	return &Gateway{&process.Process{
		Name: program, Args: []string{"run", "--config", file, "--adapter", "caddyfile"}, Dir: dir,
		Env: append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir),
	}, addr}, nil
}

// in returns the example with the others, and one more.
func (o Others) in(example, was, is string) (string, error) {
	text, err := os.ReadFile(example)
	if err != nil {
		return "", err
	}
	all := []string{was, is}
	for was, is := range o {
		all = append(all, was, is)
	}
	for i := 0; i < len(all); i += 2 {
		if strings.Count(string(text), all[i]) != 1 {
			return "", fmt.Errorf("%s has not one %q", example, all[i])
		}
	}
	return strings.NewReplacer(all...).Replace(string(text)), nil
}

// Start starts it, or starts it anew, and waits until it listens.
func (g *Gateway) Start(ctx context.Context) error {
	return g.StartUntil(ctx, func() bool {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", g.Addr)
		if err == nil {
			_ = c.Close() // it was there
		}
		return err == nil
	})
}
