package cli

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/deploy/site/include"
	"github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/zone"
)

// edge is a gateway that runs code: it has the pages as a module.
const edge = "edge"

// gateways are those that the command line writes files for: which of the includes, and where these have the pages.
var gateways = map[string]struct{ includes, pages, next string }{
	"nginx": {"*.conf", include.Nginx, "Include http.conf in http { }, and server.conf in the shop's own server { }: deploy/site/nginx.conf is an example. Then: nginx -t && nginx -s reload"},
	"caddy": {"*.caddy", include.Caddy, "Import waiting-room.caddy in the Caddyfile: deploy/site/Caddyfile is an example. Then: caddy reload"},
	edge:    {next: "Import pages.js in the program of the edge, and hand it to waitingRoom({ ..., pages }): clients/edge/README.md. Then: deploy it"},
}

// page is queue-server page.
func (c *connection) page() *cobra.Command {
	var gateway string
	export := c.command("getZone", "export ZONE DIR", "Write the pages that a gateway shows while no server answers, and what its configuration includes.",
		func(ctx context.Context, s *session, args []string) error {
			of, known := gateways[gateway]
			if !known {
				return Usage("--for %q: name the gateway: nginx, caddy or edge", gateway)
			}
			is, err := get[zone.Settings](ctx, s, "getZone", args[0])
			if err != nil {
				return err
			}
			pages, err := page.Export(is.Value)
			if err != nil {
				return err
			}
			dir, err := filepath.Abs(args[1])
			if err != nil {
				return err
			}
			if strings.ContainsAny(dir, " \t\r\n\"'`;{}$\\") {
				return Usage("%q: a configuration cannot name a folder with spaces, quotes, braces, dollar signs or semicolons", dir)
			}
			files, err := includes(of.includes, of.pages, path.Join(filepath.ToSlash(dir), "pages"))
			if err != nil {
				return err
			}
			if gateway == edge {
				if files["pages.js"], err = module(pages); err != nil {
					return err
				}
			} else {
				for name, text := range pages {
					files[path.Join("pages", name)] = text
				}
			}
			if err := writeFiles(dir, files); err != nil {
				return err
			}
			s.say("%s has %s of %s. Export them again when its name, its colours or its links are others.\n%s",
				dir, counted(len(pages), "page", "pages"), args[0], of.next)
			return nil
		})
	export.Flags().StringVar(&gateway, "for", "", "the `GATEWAY`: nginx, caddy or edge (clients/edge)")
	_ = export.RegisterFlagCompletionFunc("for", cobra.FixedCompletions([]cobra.Completion{"nginx", "caddy", edge}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return group("page", "The waiting page of a zone.", export)
}

// module returns the pages as an ES module, by state and language, such as busy-de.
func module(pages map[string][]byte) ([]byte, error) {
	texts := map[string]string{}
	for name, text := range pages {
		texts[strings.TrimSuffix(name, ".html")] = string(text)
	}
	text, err := json.Marshal(texts)
	return slices.Concat([]byte("export default "), text, []byte(";\n")), err
}

// includes returns the files of a gateway, with the pages in another folder.
func includes(pattern, was, is string) (map[string][]byte, error) {
	names, err := fs.Glob(include.Files, pattern)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range names {
		text, err := fs.ReadFile(include.Files, name)
		if err != nil {
			return nil, err
		}
		files[name] = []byte(strings.ReplaceAll(string(text), was, is))
	}
	return files, nil
}

// writeFiles writes files into a folder. Each is there as a whole at every moment, since a gateway reads it meanwhile.
func writeFiles(dir string, files map[string][]byte) error {
	const folders, readable = 0o755, 0o644 // a gateway is another user
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), folders); err != nil {
			return err
		}
		if err := os.WriteFile(to+".new", files[name], readable); err != nil {
			return err
		}
		if err := os.Rename(to+".new", to); err != nil {
			return err
		}
	}
	return nil
}
