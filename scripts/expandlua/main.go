// Command expandlua writes each Redis script and each include, with what it
// includes put in place, into a folder, for luacheck to read.
//
// Usage: expandlua folder
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/openqueue/waitingroom/lua"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: expandlua folder")
		os.Exit(2)
	}
	for _, file := range lua.Sources() {
		flat := filepath.Join(os.Args[1], strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(flat, []byte(lua.Expand(file)), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
