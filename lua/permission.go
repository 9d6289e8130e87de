package lua

import (
	_ "embed"
	"strings"
)

//go:embed permissions.acl
var permissionList string

// Permissions are the rules of Redis's ACL SETUSER for a user who may do what a
// store does, and nothing else: keys and commands, as permissions.acl lists them.
func Permissions() []string {
	var rules []string
	for l := range strings.Lines(permissionList) {
		if !strings.HasPrefix(l, "#") {
			rules = append(rules, strings.Fields(l)...)
		}
	}
	return rules
}
