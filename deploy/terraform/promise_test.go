package terraform

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// promise is something that no module may break.
type promise struct {
	name string
	// broken lists what breaks it.
	broken func(p *place) []string
}

// place is a module with values, whose folder says what it may do.
type place struct {
	*Evaluated
	t   *testing.T
	dir string
}

// value is an argument's; null if it is not set.
func (p *place) value(b *hclsyntax.Block, name string) cty.Value {
	p.t.Helper()
	v, err := p.Argument(b, name)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// is reports whether an argument is set, known, and so.
func (p *place) is(b *hclsyntax.Block, name string, want cty.Value) bool {
	p.t.Helper()
	v := p.value(b, name)
	return v.IsWhollyKnown() && !v.IsNull() && v.Type() == want.Type() && v.RawEquals(want)
}

// texts are the strings of an argument that is one, or a list of them; what is
// unknown is "?".
func (p *place) texts(b *hclsyntax.Block, name string) []string {
	p.t.Helper()
	v := p.value(b, name)
	switch {
	case v.IsNull():
		return nil
	case !v.IsKnown():
		return []string{"?"}
	case v.Type() == cty.String:
		return []string{v.AsString()}
	case !v.CanIterateElements():
		return []string{"?"}
	}
	var all []string
	for _, e := range v.AsValueSlice() {
		if e.IsKnown() && e.Type() == cty.String {
			all = append(all, e.AsString())
		} else {
			all = append(all, "?")
		}
	}
	return all
}

// resources of any of the types.
func (p *place) resources(types ...string) []*hclsyntax.Block {
	var found []*hclsyntax.Block
	for _, t := range types {
		found = append(found, p.Of("resource", t)...)
	}
	return found
}

// each lists the blocks for which wrong returns a reason.
func each(blocks []*hclsyntax.Block, wrong func(*hclsyntax.Block) string) []string {
	var all []string
	for _, b := range blocks {
		if why := wrong(b); why != "" {
			all = append(all, Address(b)+" "+why)
		}
	}
	return all
}

const (
	world  = "0.0.0.0/0"
	world6 = "::/0"
	// theBalancer is the one module that the world may reach.
	theBalancer = "modules/balancer"
	// theLimits is reached by services inside the network.
	theLimits = "modules/limits"
)

var promises = []promise{
	{"nothing but the balancer is open to the world", func(p *place) []string {
		return each(p.resources("aws_vpc_security_group_ingress_rule"), func(b *hclsyntax.Block) string {
			sources := append(p.texts(b, "cidr_ipv4"), p.texts(b, "cidr_ipv6")...)
			open := slices.Contains(sources, world) || slices.Contains(sources, world6)
			visitors := p.dir == theBalancer && (p.is(b, "to_port", cty.NumberIntVal(443)) && p.is(b, "from_port", cty.NumberIntVal(443)) ||
				p.is(b, "to_port", cty.NumberIntVal(80)) && p.is(b, "from_port", cty.NumberIntVal(80)))
			switch {
			case open && !visitors:
				return "lets in the world"
			case slices.Contains(sources, "?"):
				return "lets in a network that is not known when it is planned"
			case len(sources) == 0 && p.value(b, "referenced_security_group_id").IsNull():
				return "does not say whom it lets in"
			case !p.is(b, "ip_protocol", cty.StringVal("tcp")):
				return "lets in more than TCP"
			}
			return ""
		})
	}},
	{"rules are resources of their own, for others to see", func(p *place) []string {
		found := each(p.resources("aws_security_group_rule", "aws_network_interface_sg_attachment"), func(*hclsyntax.Block) string {
			return "is of a kind that these tests do not look at"
		})
		return append(found, each(p.resources("aws_security_group", "aws_default_security_group"), func(b *hclsyntax.Block) string {
			_, attribute := b.Body.Attributes["ingress"]
			if attribute || len(Inner(b, "ingress")) > 0 {
				return "has rules inside"
			}
			return ""
		})...)
	}},
	{"no machine has a public address", func(p *place) []string {
		yes := cty.True
		found := each(p.resources("aws_subnet"), func(b *hclsyntax.Block) string {
			if !p.is(b, "map_public_ip_on_launch", cty.False) {
				return "does not keep from giving out public addresses"
			}
			return ""
		})
		found = append(found, each(p.resources("aws_instance", "aws_launch_template"), func(b *hclsyntax.Block) string {
			if p.is(b, "associate_public_ip_address", yes) || slices.ContainsFunc(Inner(b, "network_interfaces"), func(i *hclsyntax.Block) bool {
				return p.is(i, "associate_public_ip_address", yes)
			}) {
				return "has a public address"
			}
			return ""
		})...)
		found = append(found, each(p.resources("aws_eip"), func(b *hclsyntax.Block) string {
			if p.dir != "modules/network" || b.Labels[1] != "nat" {
				return "is an address for something other than NAT"
			}
			return ""
		})...)
		return append(found, each(p.resources("aws_lb"), func(b *hclsyntax.Block) string {
			if p.dir != theBalancer && !p.is(b, "internal", yes) {
				return "is a public balancer"
			}
			return ""
		})...)
	}},
	{"visitors come over TLS alone", func(p *place) []string {
		found := each(p.resources("aws_lb_listener"), func(b *hclsyntax.Block) string {
			if p.is(b, "protocol", cty.StringVal("HTTPS")) {
				if policy := strings.Join(p.texts(b, "ssl_policy"), ""); !strings.HasPrefix(policy, "ELBSecurityPolicy-TLS13-1-") {
					return "has the TLS policy " + policy
				}
				return ""
			}
			if p.dir == theLimits && p.is(b, "protocol", cty.StringVal("TCP")) {
				return "" // no visitor reaches it: it is inside the network
			}
			for _, action := range Inner(b, "default_action") {
				if !p.is(action, "type", cty.StringVal("fixed-response")) || len(Inner(action, "fixed_response")) != 1 ||
					!p.is(Inner(action, "fixed_response")[0], "status_code", cty.StringVal("403")) {
					return "answers without TLS, or sends a POST on as a GET"
				}
			}
			return ""
		})
		return append(found, each(p.resources("aws_lb_listener_rule"), func(b *hclsyntax.Block) string {
			for _, action := range Inner(b, "action") {
				if !p.is(action, "type", cty.StringVal("redirect")) || len(Inner(action, "redirect")) != 1 ||
					!p.is(Inner(action, "redirect")[0], "protocol", cty.StringVal("HTTPS")) {
					return "answers without TLS"
				}
			}
			for _, condition := range Inner(b, "condition") {
				for _, methods := range Inner(condition, "http_request_method") {
					if slices.Equal(p.texts(methods, "values"), []string{"GET", "HEAD"}) {
						return ""
					}
				}
			}
			return "sends a POST on as a GET"
		})...)
	}},
	{"metadata are asked for with a session (IMDSv2)", func(p *place) []string {
		return each(p.resources("aws_instance", "aws_launch_template"), func(b *hclsyntax.Block) string {
			options := Inner(b, "metadata_options")
			if len(options) != 1 || !p.is(options[0], "http_tokens", cty.StringVal("required")) ||
				!p.is(options[0], "http_put_response_hop_limit", cty.NumberIntVal(1)) {
				return "does not require it, within one hop"
			}
			return ""
		})
	}},
	{"disks are encrypted", func(p *place) []string {
		encrypted := func(b *hclsyntax.Block) bool { return p.is(b, "encrypted", cty.True) }
		found := each(p.resources("aws_ebs_volume"), func(b *hclsyntax.Block) string {
			if !encrypted(b) {
				return "is not"
			}
			return ""
		})
		found = append(found, each(p.resources("aws_instance"), func(b *hclsyntax.Block) string {
			disks := append(Inner(b, "root_block_device"), Inner(b, "ebs_block_device")...)
			if len(Inner(b, "root_block_device")) != 1 || !every(disks, encrypted) {
				return "has a disk that is not"
			}
			return ""
		})...)
		return append(found, each(p.resources("aws_launch_template"), func(b *hclsyntax.Block) string {
			disks := Inner(b, "block_device_mappings")
			if len(disks) == 0 || !every(disks, func(d *hclsyntax.Block) bool { return len(Inner(d, "ebs")) == 1 && encrypted(Inner(d, "ebs")[0]) }) {
				return "has a disk that is not"
			}
			return ""
		})...)
	}},
	{"buckets are encrypted and closed", func(p *place) []string {
		return each(p.resources("aws_s3_bucket"), func(b *hclsyntax.Block) string {
			for _, kind := range []string{"aws_s3_bucket_public_access_block", "aws_s3_bucket_server_side_encryption_configuration", "aws_s3_bucket_ownership_controls"} {
				if len(p.Of("resource", kind, b.Labels[1])) != 1 {
					return "has no " + kind
				}
			}
			closed := p.Of("resource", "aws_s3_bucket_public_access_block", b.Labels[1])[0]
			for _, name := range []string{"block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets"} {
				if !p.is(closed, name, cty.True) {
					return "lacks " + name
				}
			}
			return ""
		})
	}},
	{"nobody comes by SSH", func(p *place) []string {
		found := each(p.resources("aws_key_pair"), func(*hclsyntax.Block) string { return "is a key for it" })
		found = append(found, each(p.resources("aws_instance", "aws_launch_template"), func(b *hclsyntax.Block) string {
			if !p.value(b, "key_name").IsNull() {
				return "has a key for it"
			}
			return ""
		})...)
		return append(found, each(p.resources("aws_vpc_security_group_ingress_rule", "aws_vpc_security_group_egress_rule"), func(b *hclsyntax.Block) string {
			from, to := p.value(b, "from_port"), p.value(b, "to_port")
			if from.IsNull() || to.IsNull() {
				return "is for all ports"
			}
			ssh := cty.NumberIntVal(22)
			if from.IsKnown() && to.IsKnown() && from.LessThanOrEqualTo(ssh).True() && to.GreaterThanOrEqualTo(ssh).True() {
				return "has its port"
			}
			return ""
		})...)
	}},
	{"a role may do what it must, and no more", func(p *place) []string {
		found := each(p.resources("aws_iam_role_policy_attachment", "aws_iam_user", "aws_iam_access_key"), func(*hclsyntax.Block) string {
			return "gives more than is written here"
		})
		for _, doc := range p.Of("data", "aws_iam_policy_document") {
			for _, s := range Inner(doc, "statement") {
				if p.is(s, "effect", cty.StringVal("Deny")) {
					continue
				}
				found = append(found, wideStatement(p, doc, s)...)
			}
		}
		return found
	}},
	{"neither state nor plan hold a secret", func(p *place) []string {
		found := each(p.Of("data"), func(b *hclsyntax.Block) string {
			if slices.Contains([]string{"aws_secretsmanager_secret_version", "aws_secretsmanager_secret_versions", "aws_secretsmanager_random_password"}, b.Labels[0]) {
				return "is kept in the state: take the ephemeral one"
			}
			return ""
		})
		found = append(found, each(p.resources("random_password", "tls_private_key"), func(*hclsyntax.Block) string { return "is kept in the state" })...)
		found = append(found, each(p.resources("aws_secretsmanager_secret_version", "aws_ssm_parameter"), func(b *hclsyntax.Block) string {
			for _, name := range []string{"secret_string", "secret_binary", "value"} {
				if _, ok := b.Body.Attributes[name]; ok {
					return "has " + name + ", which is kept in the state"
				}
			}
			return ""
		})...)
		return append(found, each(p.Of("variable"), func(b *hclsyntax.Block) string {
			for _, word := range []string{"password", "token", "secret"} {
				if strings.HasSuffix(b.Labels[0], word) {
					return "takes a secret: take the ARN of one"
				}
			}
			return ""
		})...)
	}},
}

// unbound are the actions that know no resources, or only list what there is.
var unbound = []string{
	"ssm:UpdateInstanceInformation", "ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel",
	"ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel",
	"ec2:DescribeInstances", "ec2:DescribeAvailabilityZones", "autoscaling:DescribeAutoScalingInstances",
}

// wideStatement lists what a statement allows too much of.
func wideStatement(p *place, doc, s *hclsyntax.Block) []string {
	var found []string
	actions := p.texts(s, "actions")
	for _, a := range actions {
		if strings.Contains(a, "*") || a == "?" {
			found = append(found, fmt.Sprintf("%s allows the action %s", Address(doc), a))
		}
	}
	free := every(actions, func(a string) bool { return slices.Contains(unbound, a) })
	for _, r := range p.texts(s, "resources") {
		if r == "*" && !free {
			found = append(found, fmt.Sprintf("%s allows %v on everything", Address(doc), actions))
		}
	}
	for _, who := range Inner(s, "principals") {
		if slices.Contains(p.texts(who, "identifiers"), "*") {
			found = append(found, Address(doc)+" allows it to everybody")
		}
	}
	return found
}

func every[T any](all []T, ok func(T) bool) bool {
	return !slices.ContainsFunc(all, func(one T) bool { return !ok(one) })
}

func (p promise) check(t *testing.T, dir string, m *Module) []string {
	t.Helper()
	e, err := m.Evaluate(Given{Variables: inputs(t, m), Now: now})
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	return p.broken(&place{Evaluated: e, t: t, dir: dir})
}

func TestPromises(t *testing.T) {
	t.Parallel()
	for dir, m := range all(t) {
		for _, p := range promises {
			for _, found := range p.check(t, dir, m) {
				t.Errorf("%s: %s: %s", dir, p.name, found)
			}
		}
	}
}

// TestPromisesBite shows each promise a module that breaks it: one that never
// fails holds nothing.
func TestPromisesBite(t *testing.T) {
	t.Parallel()
	const rule = `resource "aws_vpc_security_group_ingress_rule" "x" {
		security_group_id = "sg-1"
		ip_protocol       = "tcp"
		`
	tests := []struct{ promise, text string }{
		{"nothing but the balancer is open to the world", rule + "cidr_ipv4 = \"0.0.0.0/0\"\nfrom_port = 443\nto_port = 443\n}"},
		{"nothing but the balancer is open to the world", rule + "cidr_ipv6 = \"::/0\"\nfrom_port = 6379\nto_port = 6379\n}"},
		{"nothing but the balancer is open to the world", rule + "cidr_ipv4 = aws_vpc.x.cidr_block\nfrom_port = 1\nto_port = 2\n}\nresource \"aws_vpc\" \"x\" {}"},
		{"nothing but the balancer is open to the world", rule + "from_port = 1\nto_port = 2\n}"},
		{"rules are resources of their own, for others to see", "resource \"aws_security_group\" \"x\" {\ningress {\n}\n}"},
		{"rules are resources of their own, for others to see", `resource "aws_security_group_rule" "x" {}`},
		{"no machine has a public address", `resource "aws_subnet" "x" {}`},
		{"no machine has a public address", `resource "aws_eip" "x" {}`},
		{"no machine has a public address", "resource \"aws_instance\" \"x\" {\nassociate_public_ip_address = true\n}"},
		{"no machine has a public address", "resource \"aws_lb\" \"x\" {\ninternal = false\n}"},
		{"visitors come over TLS alone", "resource \"aws_lb_listener\" \"x\" {\nprotocol = \"HTTP\"\ndefault_action {\ntype = \"forward\"\n}\n}"},
		{"visitors come over TLS alone", "resource \"aws_lb_listener\" \"x\" {\nprotocol = \"HTTPS\"\nssl_policy = \"ELBSecurityPolicy-2016-08\"\n}"},
		{"visitors come over TLS alone", "resource \"aws_lb_listener\" \"x\" {\nprotocol = \"HTTP\"\ndefault_action {\ntype = \"redirect\"\nredirect {\nprotocol = \"HTTPS\"\nstatus_code = \"HTTP_301\"\n}\n}\n}"},
		{"visitors come over TLS alone", "resource \"aws_lb_listener_rule\" \"x\" {\naction {\ntype = \"redirect\"\nredirect {\nprotocol = \"HTTPS\"\n}\n}\n}"},
		{"metadata are asked for with a session (IMDSv2)", `resource "aws_launch_template" "x" {}`},
		{"metadata are asked for with a session (IMDSv2)", "resource \"aws_instance\" \"x\" {\nmetadata_options {\nhttp_tokens = \"optional\"\n}\n}"},
		{"disks are encrypted", `resource "aws_launch_template" "x" {}`},
		{"disks are encrypted", "resource \"aws_instance\" \"x\" {\nroot_block_device {\nencrypted = false\n}\n}"},
		{"disks are encrypted", `resource "aws_ebs_volume" "x" {}`},
		{"buckets are encrypted and closed", `resource "aws_s3_bucket" "x" {}`},
		{"nobody comes by SSH", `resource "aws_key_pair" "x" {}`},
		{"nobody comes by SSH", "resource \"aws_instance\" \"x\" {\nkey_name = \"me\"\n}"},
		{"nobody comes by SSH", rule + "from_port = 0\nto_port = 65535\n}"},
		{"a role may do what it must, and no more", `resource "aws_iam_role_policy_attachment" "x" {}`},
		{"a role may do what it must, and no more", "data \"aws_iam_policy_document\" \"x\" {\nstatement {\nactions = [\"s3:*\"]\nresources = [\"arn:aws:s3:::x\"]\n}\n}"},
		{"a role may do what it must, and no more", "data \"aws_iam_policy_document\" \"x\" {\nstatement {\nactions = [\"secretsmanager:GetSecretValue\"]\nresources = [\"*\"]\n}\n}"},
		{"neither state nor plan hold a secret", "resource \"aws_secretsmanager_secret_version\" \"x\" {\nsecret_string = \"x\"\n}"},
		{"neither state nor plan hold a secret", `data "aws_secretsmanager_secret_version" "x" {}`},
	}
	tried := make(map[string]bool)
	for _, tt := range tests {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(promises, func(p promise) bool { return p.name == tt.promise })
		if i < 0 {
			t.Errorf("there is no promise %q", tt.promise)
			continue
		}
		if len(promises[i].check(t, "modules/other", m)) == 0 {
			t.Errorf("%q is not broken by\n%s", tt.promise, tt.text)
		}
		tried[tt.promise] = true
	}
	for _, p := range promises {
		if !tried[p.name] {
			t.Errorf("nothing breaks the promise %q", p.name)
		}
	}
}
