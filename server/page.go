package server

import (
	"bytes"
	"cmp"
	"net/http"
	"path"
	"time"

	"pickup/server/internal/httpx"
	"pickup/server/openapi"
	"pickup/server/page"
)

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
	h.Set("Location", openapi.PagePath+"/")
	req.Status(http.StatusSeeOther)
	return true
}

// sendAsset sends a file of a page of the service, or 304.
func (req *request) sendAsset(name, policy, tag string, text []byte) {
	h := req.Writer.Header()
	h.Set("Content-Type", cmp.Or(fileTypes[path.Ext(name)], "text/plain; charset=utf-8"))
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h["Cache-Control"] = cacheControl
	h.Set("ETag", tag)
	for _, name := range []string{"If-Match", "If-Unmodified-Since", "Range"} { // ignored, as in every other GET
		req.Request.Header.Del(name)
	}
	http.ServeContent(req.Writer, req.Request, name, time.Time{}, bytes.NewReader(text))
}
