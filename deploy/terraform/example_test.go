package terraform

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// made is what each module hands on once AWS has made it.
var made = map[string]map[string]cty.Value{
	"network": {
		"vpc_id": samples["vpc_id"], "cidr": samples["vpc_cidr"],
		"public_subnet_ids":  cty.TupleVal([]cty.Value{cty.StringVal("subnet-0a"), cty.StringVal("subnet-0b"), cty.StringVal("subnet-0c")}),
		"private_subnet_ids": cty.TupleVal([]cty.Value{cty.StringVal("subnet-1a"), cty.StringVal("subnet-1b"), cty.StringVal("subnet-1c")}),
	},
	"balancer": {
		"security_group_id": samples["balancer_security_group_id"], "target_group_arn": samples["target_group_arn"],
		"request_count_label": samples["request_count_label"], "server_port": cty.NumberIntVal(8080),
		"dns_name": cty.StringVal("room.elb.amazonaws.com"), "log_bucket": cty.StringVal("room-log"),
	},
	"secrets": {
		"signing_arn": samples["signing_secret_arn"], "admin_token_arn": samples["admin_token_secret_arn"],
		"metrics_token_arn": samples["metrics_token_secret_arn"], "revision": cty.StringVal("1.1.1"),
	},
	"redis": {
		"url": samples["redis_url"], "user": cty.StringVal("queue"),
		"password_secret_arn": cty.StringVal("arn:aws:secretsmanager:eu-central-1:123456789012:secret:room-redis-1"),
		"ca_secret_arn":       cty.StringVal("arn:aws:secretsmanager:eu-central-1:123456789012:secret:room-redis-ca-1"),
		"security_group_id":   cty.StringVal("sg-0123456789abcdef4"),
	},
	"limits": {
		"security_group_id": withLimits["limits_security_group_id"], "target_group_arn": withLimits["limits_target_group_arn"],
		"server_port": withLimits["limits_port"], "url": cty.StringVal("http://room-limits.elb.amazonaws.com:8082"),
		"client_security_group_id": cty.StringVal("sg-0123456789abcdef8"),
	},
	"servers": {
		"security_group_id": samples["client_security_group_id"], "autoscaling_group_name": cty.StringVal("room-servers"),
		"admin_port": cty.NumberIntVal(8081), "deregistration_delay_seconds": cty.NumberIntVal(35),
	},
	"monitoring": {
		"security_group_id": samples["monitoring_security_group_id"], "grafana_command": cty.StringVal("aws ssm"),
		"password_secret_arn": cty.StringVal("arn:aws:secretsmanager:eu-central-1:123456789012:secret:room-grafana-1"),
	},
}

// What the examples hand to a module it accepts: with the values of their
// terraform.tfvars.example, with a Redis of their own; and with one that is there, and limits.
func TestExamplesFit(t *testing.T) {
	t.Parallel()
	existing := map[string]cty.Value{
		"redis_url": cty.StringVal("rediss://redis.example:6379"), "redis_cidr": cty.StringVal("10.30.0.0/16"),
		"redis_password_secret_arn": made["redis"]["password_secret_arn"],
		"limits":                    cty.True, "limits_jwks_secret_arn": samples["signing_secret_arn"],
	}
	for _, example := range []string{"examples/small", "examples/large"} {
		m, err := Load(example)
		if err != nil {
			t.Fatal(err)
		}
		for _, more := range []map[string]cty.Value{nil, existing} {
			values := readValues(t, filepath.Join(example, "terraform.tfvars.example"))
			maps.Copy(values, more)
			known := make(map[string]cty.Value)
			for name, outputs := range made {
				known["module."+name] = cty.ObjectVal(outputs)
			}
			known["module.redis"] = cty.TupleVal([]cty.Value{cty.ObjectVal(made["redis"])})
			known["module.limits"] = cty.EmptyTupleVal
			if more != nil {
				known["module.redis"] = cty.EmptyTupleVal
				known["module.limits"] = cty.TupleVal([]cty.Value{cty.ObjectVal(made["limits"])})
			}
			e, err := m.Evaluate(Given{Variables: values, Known: known, Now: "2026-11-30T00:00:00Z"})
			if err != nil {
				t.Errorf("%s: terraform.tfvars.example is refused: %v", example, err)
				continue
			}
			for _, call := range m.Of("module") {
				if more == nil || call.Labels[0] != "redis" {
					checkCall(t, e, call)
				}
			}
		}
	}
}

// checkCall has the module that is called judge what it is handed.
func checkCall(t *testing.T, e *Evaluated, call *hclsyntax.Block) {
	t.Helper()
	name := call.Labels[0]
	child, err := Load(filepath.Join(e.Dir, literal(call, "source")))
	if err != nil {
		t.Errorf("%s: %v", e.Dir, err)
		return
	}
	handed := make(map[string]cty.Value)
	for argument := range call.Body.Attributes {
		if slices.Contains([]string{"source", "count", "for_each", "depends_on", "providers"}, argument) {
			continue
		}
		if handed[argument], err = e.Argument(call, argument); err != nil {
			t.Errorf("%s: module %s: %v", e.Dir, name, err)
			return
		}
	}
	if _, err := child.Evaluate(Given{Variables: handed, Now: "2026-11-30T00:00:00Z"}); err != nil {
		t.Errorf("%s: module %s refuses what it is handed: %v", e.Dir, name, err)
	}
	// What the examples rely on, the module hands on.
	outputs := child.Of("output")
	for output := range made[name] {
		if !slices.ContainsFunc(outputs, func(b *hclsyntax.Block) bool { return b.Labels[0] == output }) {
			t.Errorf("module %s has no output %s", name, output)
		}
	}
}

// readValues reads a file of variables' values.
func readValues(t *testing.T, file string) map[string]cty.Value {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, diags := hclsyntax.ParseConfig(text, file, hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	attributes, diags := parsed.Body.JustAttributes()
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	values := make(map[string]cty.Value)
	for name, a := range attributes {
		if values[name], diags = a.Expr.Value(nil); diags.HasErrors() {
			t.Fatal(diags)
		}
	}
	return values
}
