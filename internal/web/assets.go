package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed static templates
var files embed.FS

// asset is a file that never changes under its name, which holds a hash of it.
type asset struct {
	content []byte
	kind    string
}

// ServeHTTP sends the file.
func (a asset) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.content)
}

var kinds = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// assetPath is where a file of the folder static is served.
func assetPath(name string) string {
	content, err := files.ReadFile("static/" + name)
	if err != nil {
		panic(err) // it is in the binary
	}
	sum := sha256.Sum256(content)
	return Path + "static/" + hex.EncodeToString(sum[:6]) + "-" + name
}

// assets are the files of the folder static by path.
func assets() map[string]http.Handler {
	out := map[string]http.Handler{}
	entries, err := fs.ReadDir(files, "static")
	if err != nil {
		panic(err) // it is in the binary
	}
	for _, e := range entries {
		content, err := files.ReadFile("static/" + e.Name())
		if err != nil {
			panic(err)
		}
		out[assetPath(e.Name())] = asset{content, kinds[path.Ext(e.Name())]}
	}
	return out
}

// parseSheets reads the templates: each file with the layout and what all share.
func parseSheets() (map[string]*template.Template, error) {
	shared, err := template.New("").Funcs(functions).ParseFS(files, "templates/layout.html", "templates/shared.html")
	if err != nil {
		return nil, fmt.Errorf("reading the templates: %w", err)
	}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("reading the templates: %w", err)
	}
	sheets := map[string]*template.Template{}
	for _, name := range names {
		base := strings.TrimPrefix(name, "templates/")
		if base == "layout.html" || base == "shared.html" {
			continue
		}
		t, err := shared.Clone()
		if err == nil {
			t, err = t.ParseFS(files, name)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the templates: %w", err)
		}
		sheets[base] = t
	}
	return sheets, nil
}
