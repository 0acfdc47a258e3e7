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

// viewer is the page that shows the document, and swagger-ui-dist as it is on npm,
// with its licence. The large files are compressed with gzip -9n.
//
//go:embed docs
var viewer embed.FS

// docsPolicy lets the page load only files of this server. Swagger UI sets inline
// styles, and its style sheet has icons as data URLs.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// docs serves GET /_/docs: the page and the files that it loads.
func (req *request) docs() error {
	name := req.Param("file")
	if name == "" {
		name = "index.html"
	}
	if name == "docs.css" || name == "icon.svg" { // of the other page
		return req.sendPageFile(name, docsPolicy)
	}
	h := req.Writer.Header()
	file, err := viewer.ReadFile("docs/" + name)
	if err != nil {
		if file, err = viewer.ReadFile("docs/" + name + ".gz"); err != nil {
			return req.noResource()
		}
		if httpx.AcceptsGzip(req.Request) {
			h.Set("Content-Encoding", "gzip")
		} else if r, err := gzip.NewReader(bytes.NewReader(file)); err != nil {
			return err
		} else if file, err = io.ReadAll(r); err != nil {
			return err
		}
	}
	req.sendAsset(name, docsPolicy, httpx.Tag(file), file)
	return nil
}

// page serves GET /_/ and /_/page/FILE: the page, and the files that it loads.
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
	req.sendAsset(name, policy, content.Tag, content.Text)
	return nil
}

// toPage redirects a browser that opens the index to the page. It reports whether
// it does. Programs, and requests that name a session, get the index itself.
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
func (req *request) sendAsset(name, policy, tag string, text []byte) {
	h := req.Writer.Header()
	h.Set("Content-Type", cmp.Or(static.Types[path.Ext(name)], "text/plain; charset=utf-8"))
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h["Cache-Control"] = cacheControl
	h.Set("ETag", tag)
	for _, name := range []string{"If-Unmodified-Since", "Range"} { // ignored, as in every other GET
		req.Request.Header.Del(name)
	}
	http.ServeContent(req.Writer, req.Request, name, time.Time{}, bytes.NewReader(text))
}
