package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/uplot"
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
	files  map[string]asset
}

type asset struct {
	kind string
	text []byte
}

func loadAssets() (*assets, error) {
	a := &assets{files: map[string]asset{}}
	sum := sha256.New()
	own, err := fs.Sub(files, "assets")
	if err == nil {
		err = errors.Join(a.load(own, "", sum), a.load(uplot.Files, "vendor/", sum))
	}
	if err != nil {
		return nil, err
	}
	a.folder = root + "assets/" + hex.EncodeToString(sum.Sum(nil)[:8])
	return a, nil
}

// load takes in a folder's files, under the prefix.
func (a *assets) load(from fs.FS, prefix string, sum io.Writer) error {
	return fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		short := prefix + name
		kind, ok := assetTypes[path.Ext(name)]
		if !ok {
			if kind = mime.TypeByExtension(path.Ext(name)); kind == "" {
				return fmt.Errorf("console: no type is known for %s", name)
			}
		}
		_, _ = fmt.Fprintf(sum, "%s %d\n", short, len(text)) // a hash never fails
		_, _ = sum.Write(text)
		a.files[short] = asset{kind: kind, text: text}
		return nil
	})
}

// url is where a browser gets the file. It returns an error for a file that is
// not there, so that a page with a wrong name does not pass its tests.
func (a *assets) url(name string) (string, error) {
	if _, ok := a.files[name]; !ok {
		return "", fmt.Errorf("console: there is no asset %s", name)
	}
	return a.folder + "/" + name, nil
}

// serve is GET /console/assets/{hash}/{name...}. Files are no secret, so no
// session is asked for: the log in page needs them. One of another version is
// not there, rather than kept for good under the wrong name.
func (a *assets) serve(w http.ResponseWriter, r *http.Request) {
	file, ok := a.files[r.PathValue("name")]
	if !ok || root+"assets/"+r.PathValue("hash") != a.folder {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", file.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file.text))
}

// icon is GET /favicon.ico. It leads to the one that pages name, under the name
// that a browser may keep for good.
func (a *assets) icon(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, a.folder+"/icon.svg", http.StatusFound)
}
