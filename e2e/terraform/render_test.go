package terraform

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
)

const (
	folder = "../../deploy/terraform/"
	// region is that of the secrets that aws stands for.
	region = "eu-central-1"
)

// An expression of a template: ${name} or ${name.part}; %{ if ... } and its like.
var (
	interpolation = regexp.MustCompile(`(\$?)\$\{([a-z_.0-9]+)\}`)
	directive     = regexp.MustCompile(`%\{[^}]*\}`)
)

// render fills in a template of deploy/terraform as Terraform does, for those that have
// nothing but names, and takes every %{ if } for true. An absolute path is one below root.
func render(t *testing.T, name, root string, values map[string]string) string {
	t.Helper()
	text := room.Read(t, folder+name)
	said := interpolation.ReplaceAllStringFunc(directive.ReplaceAllString(text, ""), func(found string) string {
		if strings.HasPrefix(found, "$$") {
			return found
		}
		value, ok := values[strings.Trim(found, "${}")]
		if !ok {
			t.Errorf("%s: no value for %s", name, found)
		}
		return value
	})
	said = strings.ReplaceAll(said, "$${", "${")
	for _, place := range []string{"/etc/redis-node", "/etc/default", "/var/lib/redis", "/var/lib/prometheus", "/etc/queue-server"} {
		said = strings.ReplaceAll(said, place, root+place)
	}
	// Who runs the tests may be nobody but himself.
	return strings.ReplaceAll(said, "root:redis", strconv.Itoa(os.Getuid())+":"+strconv.Itoa(os.Getgid()))
}

// secrets stands for Secrets Manager: a folder with a file for each version, and a program
// aws beside it that reads and writes them.
type secrets struct{ dir string }

func newSecrets(t *testing.T, values map[string]string) *secrets {
	t.Helper()
	s := &secrets{dir: t.TempDir()}
	for name, value := range values {
		if !strings.Contains(name, " ") {
			name += " AWSCURRENT"
		}
		room.Write(t, filepath.Join(s.dir, name), value+"\n")
	}
	room.WriteAs(t, s.dir+"/aws", `#!/bin/bash
[ "$1" = secretsmanager ] || exit 2
command=$2 stage=AWSCURRENT
while shift; [ $# -gt 0 ]; do
	case $1 in
	--secret-id) id=$2 ;;
	--version-stage) stage=$2 ;;
	--secret-string) from=${2#file://} ;;
	esac
done
file="`+s.dir+`/$id $stage"
case $command in
put-secret-value) cp "$from" "$file" ;;
get-secret-value) cat "$file" 2>/dev/null || { echo "An error occurred (ResourceNotFoundException)" >&2; exit 254; } ;;
esac
`, 0o755)
	return s
}

// run runs a script with aws first in its path, and fails the test where it fails or prints
// a secret.
func (s *secrets) run(t *testing.T, env map[string]string, script string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{script}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+s.dir+":"+os.Getenv("PATH"))
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, said)
	}
	for _, file := range room.Glob(t, s.dir+"/* AWS*") {
		if strings.Contains(string(said), strings.TrimSpace(room.Read(t, file))) {
			t.Errorf("%s prints a secret: %s", script, said)
		}
	}
}
