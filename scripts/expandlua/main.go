// Command expandlua writes each Redis script and each include, with what it
// includes put in place, into a folder, for luacheck to read.
//
// Usage: expandlua folder
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/openqueue/waitingroom/lua"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: expandlua folder")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	for _, file := range lua.Sources() {
		name := strings.TrimSuffix(strings.ReplaceAll(file, "/", "-"), ".lua") + ".lua"
		if err := root.WriteFile(name, []byte(lua.Expand(file)), 0o600); err != nil {
			return err
		}
	}
	return root.Close()
}
