package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"net/http"
	"path"
	"time"
)

//go:embed assets templates
var files embed.FS

// assetTypes are of what the folder holds, whatever the machine's own table
// of types says.
var assetTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

// asset is GET /console/assets/{name...}. Files are no secret, so no session is asked for: the log in page needs them. A browser
// asks each time whether its copy is still good.
func asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	text, err := files.ReadFile("assets/" + name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", assetTypes[path.Ext(name)])
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(text))))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}
