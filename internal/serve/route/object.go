package route

import (
	"slices"

	"gopkg.in/yaml.v3"
)

// Object is a JSON object whose members keep their order.
type Object []Member

// Member is a member of an Object.
type Member struct {
	Name  string
	Value any
}

// With returns the object with a member at its end, or in place of that of the same name.
func (o Object) With(name string, value any) Object {
	if i := o.index(name); i >= 0 {
		o = slices.Clone(o)
		o[i].Value = value
		return o
	}
	return append(slices.Clip(o), Member{name, value})
}

func (o Object) index(name string) int {
	return slices.IndexFunc(o, func(m Member) bool { return m.Name == name })
}

// Get returns the member of that name; nil for none.
func (o Object) Get(name string) any {
	if i := o.index(name); i >= 0 {
		return o[i].Value
	}
	return nil
}

// MarshalYAML implements yaml.Marshaler.
func (o Object) MarshalYAML() (any, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, m := range o {
		var name, value yaml.Node
		if err := name.Encode(m.Name); err != nil {
			return nil, err
		}
		if err := value.Encode(m.Value); err != nil {
			return nil, err
		}
		n.Content = append(n.Content, &name, &value)
	}
	return n, nil
}
