package policyset

import (
	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/serve/strictyaml"
)

// Read reads a policy from YAML, or from JSON, which is YAML: strictly, and with
// all that is wrong with it. What it does not say is left empty; its name is
// the given one where it says none.
func Read(n *yaml.Node, name string) (limit.Policy, []strictyaml.Fault) {
	var r strictyaml.Reader
	p := limit.Policy{Name: name}
	r.Struct(n, "a policy", &p)
	if len(r.Faults) == 0 {
		if err := p.Validate(); err != nil {
			for _, text := range Faults(err) {
				r.Fault(n, "%s", text)
			}
		}
	}
	return p, r.Faults
}
