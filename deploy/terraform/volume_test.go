package terraform

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// An instance finds its data volume by its NVMe name. Of a type that has none, or of
// another architecture than the image's, none is made.
func TestInstancesFindTheirVolume(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, nvme, architecture string
		made                     bool
	}{
		{"c7i.2xlarge", "required", "x86_64", true},
		{"c4.2xlarge", "unsupported", "x86_64", false},
		{"i3.large", "supported", "x86_64", false},
		{"c7g.2xlarge", "required", "arm64", false},
	}
	for module, resource := range map[string]string{"modules/redis": "node", "modules/monitoring": "this"} {
		m, err := Load(module)
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range tests {
			e, err := m.Evaluate(Given{Variables: inputs(t, m), Now: now, Known: map[string]cty.Value{
				"data.aws_ec2_instance_type.this.ebs_nvme_support":        cty.StringVal(tt.nvme),
				"data.aws_ec2_instance_type.this.supported_architectures": cty.ListVal([]cty.Value{cty.StringVal(tt.architecture)}),
			}})
			if err != nil {
				t.Fatal(err)
			}
			made := true
			lifecycle := Inner(m.Of("resource", "aws_instance", resource)[0], "lifecycle")[0]
			for _, p := range Inner(lifecycle, "precondition") {
				ok, err := e.Argument(p, "condition")
				if err != nil {
					t.Fatal(err)
				}
				made = made && (!ok.IsKnown() || ok.True())
			}
			if made != tt.made {
				t.Errorf("%s: a %s is made: %v, want %v", module, tt.name, made, tt.made)
			}
		}
	}
}
