package terraform

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// samples are values for variables that have no default, by name: the same name
// means the same in every module.
var samples = map[string]cty.Value{
	"name":                         cty.StringVal("room"),
	"region":                       cty.StringVal("eu-central-1"),
	"vpc_id":                       cty.StringVal("vpc-0123456789abcdef0"),
	"vpc_cidr":                     cty.StringVal("10.20.0.0/16"),
	"subnet_id":                    cty.StringVal("subnet-0123456789abcdefa"),
	"subnet_a":                     cty.StringVal("subnet-0123456789abcdefa"),
	"subnet_b":                     cty.StringVal("subnet-0123456789abcdefb"),
	"subnet_c":                     cty.StringVal("subnet-0123456789abcdefc"),
	"client_security_group_id":     cty.StringVal("sg-0123456789abcdef0"),
	"balancer_security_group_id":   cty.StringVal("sg-0123456789abcdef1"),
	"monitoring_security_group_id": cty.StringVal("sg-0123456789abcdef2"),
	"server_security_group_id":     cty.StringVal("sg-0123456789abcdef3"),
	"autoscaling_group_name":       cty.StringVal("room-servers"),
	"certificate_arn":              cty.StringVal("arn:aws:acm:eu-central-1:123456789012:certificate/0f"),
	"target_group_arn":             cty.StringVal("arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/queue-/01"),
	"request_count_label":          cty.StringVal("app/room/0123456789abcdef/targetgroup/queue-/0123456789abcdef"),
	"redis_url":                    cty.StringVal("rediss://10.20.0.5:6379,10.20.16.5:6379,10.20.32.5:6379"),
	"signing_secret_arn":           cty.StringVal("arn:aws:secretsmanager:eu-central-1:123456789012:secret:room-signing-1"),
	"admin_token_secret_arn":       cty.StringVal("arn:aws:secretsmanager:eu-central-1:123456789012:secret:room-admin-token-1"),
	"metrics_token_secret_arn":     cty.StringVal("arn:aws:secretsmanager:eu-central-1:123456789012:secret:room-metrics-token-1"),
	"package_url":                  cty.StringVal("https://releases.example/queue-server_1.0.0_amd64.deb"),
	"package_sha256":               cty.StringVal(strings.Repeat("0a", 32)),
}

// Sample returns a good value for each of the module's variables that has no
// default.
func (m *Module) Sample() (map[string]cty.Value, error) {
	values := make(map[string]cty.Value)
	for _, b := range m.Of("variable") {
		name := b.Labels[0]
		if _, preset := b.Body.Attributes["default"]; preset {
			continue
		}
		v, ok := samples[name]
		if !ok {
			return nil, fmt.Errorf("terraform: %s: no value is known for the variable %s: add one to samples", m.Dir, name)
		}
		values[name] = v
	}
	return values, nil
}
