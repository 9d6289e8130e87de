// Package include hands out what the examples of deploy/site include, for the command line, which writes it where a gateway
// reads it.
package include

import "embed"

// Files are those for nginx (*.conf) and for Caddy (*.caddy). Each names the folder of the pages as Nginx or Caddy has it.
//
//go:embed *.conf *.caddy
var Files embed.FS

// Where the files look for their pages.
const (
	Nginx = "/etc/nginx/waiting-room/pages"
	Caddy = "/etc/caddy/waiting-room/pages"
)
