package server

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"io"
	"net/http"
	"path"
	"time"

	"pickup/server/internal/httpx"
	"pickup/server/internal/static"
	"pickup/server/page"
)

// viewer is the page that shows the OpenAPI document, and the unmodified npm package swagger-ui-dist
// with the license. The large files are compressed with gzip -9n.
//
//go:embed docs
var viewer embed.FS

// docsPolicy lets the page load only files of this server. Swagger UI sets inline styles, and the
// style sheet has icons as data URLs.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// docs serves GET /_/docs and the files of that page.
func (req *request) docs() error {
	name := cmp.Or(req.Param("file"), "index.html")
	if name == "docs.css" || name == "icon.svg" { // shared with the other page
		return req.sendPageFile(name, docsPolicy)
	}
	file, err := viewer.ReadFile("docs/" + name)
	if err == nil {
		return req.sendAsset(name, docsPolicy, httpx.Tag(file), file)
	}
	file, err = viewer.ReadFile("docs/" + name + ".gz")
	if err != nil {
		return req.noResource()
	}
	if httpx.AcceptsGzip(req.Request) {
		req.Header("Content-Encoding", "gzip")
		return req.sendAsset(name, docsPolicy, httpx.Tag(file), file)
	}
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return err
	}
	file, err = io.ReadAll(r)
	if err != nil {
		return err
	}
	return req.sendAsset(name, docsPolicy, httpx.Tag(file), file)
}

// page serves GET /_/ and the files of that page, below /_/page/.
func (req *request) page() error {
	return req.sendPageFile(cmp.Or(req.Param("file"), "index.html"), page.Policy)
}

func (req *request) sendPageFile(name, policy string) error {
	file, ok := page.Open(name)
	if !ok {
		return req.noResource()
	}
	content := file.Plain
	if httpx.AcceptsGzip(req.Request) {
		content = file.Gzip()
		req.Header("Content-Encoding", "gzip")
	}
	return req.sendAsset(name, policy, content.Tag, content.Text)
}

// toPage redirects a browser from the index to the page, and reports whether it does. Programs, and
// requests that name a session, get the index.
func (req *request) toPage() bool {
	if req.NoPage || req.session != nil || !httpx.Prefers(req.Request, "text/html") {
		return false
	}
	h := req.Writer.Header()
	h["Cache-Control"], h["Vary"] = cacheControl, vary
	h.Set("Location", "/_/")
	req.Status(http.StatusSeeOther)
	return true
}

// sendAsset sends a file of a page of the service, or 304.
func (req *request) sendAsset(name, policy, tag string, text []byte) error {
	h := req.Writer.Header()
	h.Set("Content-Type", cmp.Or(static.Types[path.Ext(name)], "text/plain; charset=utf-8"))
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h["Cache-Control"] = cacheControl
	h.Set("ETag", tag)
	for _, name := range []string{"If-Unmodified-Since", "Range"} { // as every other GET, ignore the two
		req.Request.Header.Del(name)
	}
	http.ServeContent(req.Writer, req.Request, name, time.Time{}, bytes.NewReader(text))
	return nil
}
