package infrastructure

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// grafanaSettings are those of Grafana's defaults.ini that the instance sets, by
// section and name.
var grafanaSettings = []string{
	"server http_addr", "security admin_password", "users allow_sign_up",
	"analytics reporting_enabled", "analytics check_for_updates", "dashboards default_home_dashboard_path",
}

// grafanaValue is what stands for a file's content in a value. Grafana has the same
// for variables of the environment, with another word or none before the brace.
var grafanaValue = regexp.MustCompile(`\$(|__\w+){([^}]+)}`)

// grafanaReads does what grafana does with its environment when it starts: each
// setting that it knows is looked for by its own name, which is
// GF_<SECTION>_<SETTING>, and a $__file{} in its value is read. What no setting is
// called is never looked at.
func grafanaReads(environment map[string]string) (map[string]string, error) {
	settings := make(map[string]string)
	for _, name := range grafanaSettings {
		variable := "GF_" + strings.ToUpper(strings.ReplaceAll(name, " ", "_"))
		value, set := environment[variable]
		delete(environment, variable)
		if !set {
			continue
		}
		if found := grafanaValue.FindStringSubmatch(value); found != nil {
			if found[1] != "__file" {
				return nil, fmt.Errorf("%s: %q names no file", variable, value)
			}
			text, err := os.ReadFile(found[2])
			if err != nil {
				return nil, err
			}
			value = strings.Replace(value, found[0], strings.TrimSpace(string(text)), 1)
		}
		settings[name] = value
	}
	for left := range environment {
		return nil, fmt.Errorf("grafana has no setting that is called %s", left)
	}
	return settings, nil
}

// TestGrafanasPassword: what the instance's script fetches is what grafana takes for
// the password of admin.
func TestGrafanasPassword(t *testing.T) {
	t.Parallel()
	const password = "Gp3Tz8Kc1Vn6Yb4Qp9Xs2Jd7LhGr5Eu"
	root, _ := watching(t, "")
	unit, err := os.ReadFile(filepath.Join(root, "etc/systemd/system/grafana-server.service.d/private.conf"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(root, "usr/local/sbin/monitoring-install"))
	if err != nil {
		t.Fatal(err)
	}
	written := regexp.MustCompile(`printf %s "\$password" >(\S+)`).FindSubmatch(script)
	if written == nil {
		t.Fatal("the script writes the password nowhere")
	}
	mkdir(t, filepath.Dir(root+string(written[1])))
	writeFile(t, root+string(written[1]), password, 0o640)

	environment := make(map[string]string)
	for l := range strings.Lines(string(unit)) {
		// systemd takes a value without quotes and blanks as it stands, but for %.
		if assignment, ok := strings.CutPrefix(strings.TrimSpace(l), "Environment="); ok {
			name, value, _ := strings.Cut(assignment, "=")
			if strings.ContainsAny(value, "%\"'\\ ") {
				t.Errorf("%s needs systemd's rules for quotes: %s", name, value)
			}
			environment[name] = strings.ReplaceAll(value, "/etc/grafana/", root+"/etc/grafana/")
		}
	}
	docker := map[string]string{"GF_SECURITY_ADMIN_PASSWORD__FILE": root + string(written[1])}
	if _, err := grafanaReads(docker); err == nil {
		t.Error("what only the script of Grafana's Docker image reads passes for a setting")
	}
	settings, err := grafanaReads(environment)
	if err != nil {
		t.Fatal(err)
	}
	if got := settings["security admin_password"]; got != password {
		t.Errorf("the password of admin is %q", got)
	}
	if got := settings["server http_addr"]; got != "127.0.0.1" {
		t.Errorf("grafana listens on %q", got)
	}
}
