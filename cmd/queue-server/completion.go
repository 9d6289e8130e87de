package main

import (
	_ "embed"
	"io"
)

// What the shells run. Each asks this program for what may come next, by
// completeWord, and so knows no commands itself.
var (
	//go:embed completion/bash.sh
	bashCompletion string
	//go:embed completion/zsh.sh
	zshCompletion string
	//go:embed completion/fish.sh
	fishCompletion string
)

// completionCommand is queue-server completion.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help says what to do with what is printed.
func (completionCommand) Help() string {
	return "Put one of these into the file that your shell reads when it starts:\n\n" +
		"  bash   source <(queue-server completion bash)\n\n" +
		"  zsh    source <(queue-server completion zsh)\n\n" +
		"  fish   queue-server completion fish | source\n\n" +
		"Names of zones come from the server that $QUEUE_ADMIN_URL or --admin-url names, if it answers within a second."
}

// Run prints the shell's code.
func (c completionCommand) Run(out io.Writer) error {
	code := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Shell]
	_, err := io.WriteString(out, code)
	return err
}
