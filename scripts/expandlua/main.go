// Command expandlua prints a Redis script as Redis gets it, with its includes
// put in place, for luacheck to read.
//
// Usage: expandlua name                  (visit, sweep, ...)
package main

import (
	"fmt"
	"os"

	"github.com/openqueue/waitingroom/lua"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: expandlua name")
		os.Exit(2)
	}
	fmt.Print(lua.Expand(os.Args[1]))
}
