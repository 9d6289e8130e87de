package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
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

// assets are the files that pages refer to. Their folder is named for a hash of
// all of them, so that a browser may keep each for good, and modules can import
// each other by their plain names.
type assets struct {
	folder string // "/console/assets/0123456789abcdef"
	texts  map[string][]byte
}

// loadAssets returns those that are part of the program.
func loadAssets() (*assets, error) {
	a := &assets{texts: map[string][]byte{}}
	sum := sha256.New()
	err := fs.WalkDir(files, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		name = strings.TrimPrefix(name, "assets/")
		a.texts[name] = text
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text) // a hash never fails
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	a.folder = root + "assets/" + hex.EncodeToString(sum.Sum(nil)[:8])
	return a, nil
}

// url is where a browser gets the file. It returns an error for a file that is
// not there, so that a page with a wrong name does not pass its tests.
func (a *assets) url(name string) (string, error) {
	if _, ok := a.texts[name]; !ok {
		return "", fmt.Errorf("console: there is no asset %s", name)
	}
	return a.folder + "/" + name, nil
}

// serve is GET /console/assets/{hash}/{name...}. Files are no secret, so no
// session is asked for: the log in page needs them. One of another version is
// not there, rather than kept for good under the wrong name.
func (a *assets) serve(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	text, ok := a.texts[name]
	if !ok || root+"assets/"+r.PathValue("hash") != a.folder {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", assetTypes[path.Ext(name)])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// icon is GET /favicon.ico. It leads to the one that pages name, under the name
// that a browser may keep for good.
func (a *assets) icon(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, a.folder+"/icon.svg", http.StatusFound)
}
