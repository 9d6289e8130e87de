package container

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/process"
)

const adminToken = "only-for-the-tests"

// definitions are files of published modules with the resources that the chart and the examples use.
var definitions = map[string][]string{
	"sigs.k8s.io/gateway-api@v1.5.1": {"config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
	"github.com/prometheus-operator/prometheus-operator@v0.85.0": {
		"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
	},
	"github.com/traefik/traefik/v3@v3.7.13": {"docs/content/reference/dynamic-configuration/kubernetes-crd-definition-v1.yml"},
	"github.com/envoyproxy/gateway@v1.9.1": {
		"charts/gateway-helm/charts/crds/crds/generated/gateway.envoyproxy.io_securitypolicies.yaml",
		"charts/gateway-helm/charts/crds/crds/generated/gateway.envoyproxy.io_envoyextensionpolicies.yaml",
	},
	"istio.io/api@v1.31.4": {"kubernetes/customresourcedefinitions.gen.yaml"},
}

// cluster is an API server with etcd behind it. It runs no controllers and no pods.
type cluster struct {
	url, kubeconfig string
	client          *http.Client
}

// startCluster starts both programs, and defines the resources of others.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	dir := t.TempDir()
	client, peer := "http://"+room.FreeAddr(t), "http://"+room.FreeAddr(t)
	etcd := room.Adopt(t, &process.Process{Name: "etcd", Dir: dir, Args: []string{
		"--data-dir=etcd", "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		"--unsafe-no-fsync",
	}})
	room.Launch(t, etcd)

	room.Do(t, dir, "openssl", "genrsa", "-out", "account.key", "2048")
	room.Write(t, filepath.Join(dir, "tokens.csv"), adminToken+",admin,1,system:masters\n")
	addr := room.FreeAddr(t)
	_, port, _ := strings.Cut(addr, ":")
	c := &cluster{url: "https://" + addr, kubeconfig: filepath.Join(dir, "kubeconfig"), client: &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, // of the server's own making
	}}
	server := room.Adopt(t, &process.Process{Name: room.Tool(t, "KUBE_APISERVER"), Dir: dir, Args: []string{
		"--etcd-servers=" + client, "--cert-dir=certificates", "--bind-address=127.0.0.1", "--secure-port=" + port,
		"--token-auth-file=tokens.csv", "--watch-cache=false", "--authorization-mode=AlwaysAllow", "--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes", "--service-account-key-file=account.key", "--service-account-signing-key-file=account.key",
	}})
	room.Launch(t, server)
	room.Await(t, "the API server is ready", func() bool {
		status, _, err := c.ask(t.Context(), http.MethodGet, "/readyz", nil)
		return err == nil && status == http.StatusOK
	})
	room.Write(t, c.kubeconfig, fmt.Sprintf(`
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: %s}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
current-context: test
`, c.url, adminToken))

	for module, files := range definitions {
		for _, file := range files {
			c.apply(t, "", room.Read(t, filepath.Join(moduleFolder(t, module), file)))
		}
	}
	c.apply(t, "", `
apiVersion: v1
kind: Namespace
metadata:
  name: room
  labels: {pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/warn: restricted}
---
apiVersion: v1
kind: Namespace
metadata: {name: istio-system}
`)
	return c
}

// moduleFolder is where a published module's files are.
func moduleFolder(t *testing.T, module string) string {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	download.Dir = t.TempDir() // no module's go.mod has a say
	said, err := download.Output()
	var of struct {
		Dir string `json:"Dir"`
	}
	if json.Unmarshal(said, &of) != nil || of.Dir == "" {
		t.Fatalf("%s: %v: %s", module, err, said)
	}
	return of.Dir
}

func (c *cluster) ask(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+adminToken)
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/apply-patch+yaml")
	}
	res, err := c.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err = io.ReadAll(res.Body)
	for _, warning := range res.Header.Values("Warning") {
		answer = append([]byte("warning: "+warning+"\n"), answer...)
		err = errors.Join(err, fmt.Errorf("%s %s: %s", method, path, warning))
	}
	return res.StatusCode, answer, err
}

// object is what every object of Kubernetes has.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name, Namespace string }
}

// apply stores each object of a file by a server-side apply, which refuses fields that the resource does not have. Objects
// without a namespace are put into the one that is given.
func (c *cluster) apply(t *testing.T, namespace, text string) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var node yaml.Node
		if err := d.Decode(&node); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		var o object
		if err := node.Decode(&o); err != nil {
			t.Fatal(err)
		}
		if o.Kind == "" {
			continue // only comments
		}
		one, err := yaml.Marshal(&node)
		if err != nil {
			t.Fatal(err)
		}
		if o.Metadata.Namespace != "" {
			namespace = o.Metadata.Namespace
		}
		// What was defined just now is served a moment later.
		var path string
		room.Await(t, "the API server knows "+o.APIVersion+" "+o.Kind, func() bool {
			path = c.path(t, o, namespace)
			return path != ""
		})
		if o.Kind == "Job" { // cannot be changed: helm deletes a hook's before it makes it anew
			if _, _, err := c.ask(t.Context(), http.MethodDelete, path+"?propagationPolicy=Background", nil); err != nil {
				t.Error(err)
			}
		}
		status, answer, err := c.ask(t.Context(), http.MethodPatch, path+"?fieldManager=test&force=true&fieldValidation=Strict", one)
		if err != nil || status >= http.StatusMultipleChoices {
			t.Errorf("%s %s: %d %v: %s", o.Kind, o.Metadata.Name, status, err, answer)
		}
	}
}

// path is where the API server keeps the object; "" if it does not know the kind.
func (c *cluster) path(t *testing.T, o object, namespace string) string {
	t.Helper()
	base := "/apis/" + o.APIVersion
	if o.APIVersion == "v1" {
		base = "/api/v1"
	}
	_, answer, err := c.ask(t.Context(), http.MethodGet, base, nil)
	if err != nil {
		return ""
	}
	var resources struct {
		Resources []struct {
			Name       string `json:"name"`
			Kind       string `json:"kind"`
			Namespaced bool   `json:"namespaced"`
		} `json:"resources"`
	}
	if json.Unmarshal(answer, &resources) != nil {
		return ""
	}
	for _, r := range resources.Resources {
		switch {
		case r.Kind != o.Kind || strings.Contains(r.Name, "/"):
		case r.Namespaced:
			return fmt.Sprintf("%s/namespaces/%s/%s/%s", base, namespace, r.Name, o.Metadata.Name)
		default:
			return fmt.Sprintf("%s/%s/%s", base, r.Name, o.Metadata.Name)
		}
	}
	return ""
}

// get decodes one object.
func (c *cluster) get(t *testing.T, path string, into any) {
	t.Helper()
	status, answer, err := c.ask(t.Context(), http.MethodGet, path, nil)
	if err != nil || status != http.StatusOK {
		t.Fatalf("%s: %d %v: %s", path, status, err, answer)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		t.Fatal(err)
	}
}
