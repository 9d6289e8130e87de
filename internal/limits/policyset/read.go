package policyset

import (
	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/serve/strictyaml"
)

// Read reads a policy strictly, from YAML or from JSON, which is YAML. It returns all faults.
// Fields that are missing stay empty, except that name is the name then.
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
