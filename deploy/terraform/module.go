package terraform

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Module is one folder of Terraform files.
type Module struct {
	// Dir is the folder, as it was given.
	Dir string
	// Blocks are those of all its files, in the files' order.
	Blocks []*hclsyntax.Block
}

// Load parses the Terraform files of a folder.
func Load(dir string) (*Module, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil {
		return nil, fmt.Errorf("terraform: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("terraform: no files in %s", dir)
	}
	m := &Module{Dir: dir}
	for _, file := range files {
		parsed, diags := hclparse.NewParser().ParseHCLFile(file)
		if diags.HasErrors() {
			return nil, fmt.Errorf("terraform: %w", diags)
		}
		body, ok := parsed.Body.(*hclsyntax.Body)
		if !ok {
			return nil, fmt.Errorf("terraform: %s has a body of type %T", file, parsed.Body)
		}
		m.Blocks = append(m.Blocks, body.Blocks...)
	}
	return m, nil
}

// Of returns the blocks that begin so: a type, then labels as far as given, such
// as Of("resource", "aws_lb").
func (m *Module) Of(kind string, labels ...string) []*hclsyntax.Block {
	var found []*hclsyntax.Block
	for _, b := range m.Blocks {
		if b.Type == kind && len(b.Labels) >= len(labels) && strings.Join(b.Labels[:len(labels)], ".") == strings.Join(labels, ".") {
			found = append(found, b)
		}
	}
	return found
}

// Inner returns the blocks of that type within b, and those that a dynamic block
// would make.
func Inner(b *hclsyntax.Block, kind string) []*hclsyntax.Block {
	var found []*hclsyntax.Block
	for _, inner := range b.Body.Blocks {
		switch {
		case inner.Type == kind:
			found = append(found, inner)
		case inner.Type == "dynamic" && inner.Labels[0] == kind:
			for _, content := range inner.Body.Blocks {
				if content.Type == "content" {
					found = append(found, content)
				}
			}
		}
	}
	return found
}

// Address is what Terraform calls a block: aws_lb.this, data.aws_ami.debian.
func Address(b *hclsyntax.Block) string {
	address := strings.Join(b.Labels, ".")
	if b.Type != "resource" {
		address = b.Type + "." + address
	}
	return address
}
