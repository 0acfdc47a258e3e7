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
	"weak"

	"pickup/internal/describe"
	"pickup/server/internal/httpx"
	"pickup/server/internal/static"
	"pickup/server/openapi"
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

// document returns the OpenAPI document of the request's snapshot. It is shared and
// must not be modified.
func (req *request) document() []byte {
	simulated, cached := req.simulated(), &req.described
	snap := weak.Make(req.snap)
	if last := cached.Load(); last != nil && last.snap == snap && last.sessionPath == req.sessionPath && last.simulated == simulated {
		return last.document
	}
	now := &described{snap, req.sessionPath, simulated, append(openapi.Document(req.snap, openapi.Options{
		Version: req.Version, ReadOnly: req.ReadOnly, Auth: req.Auth != nil, Loopback: req.Loopback, Metrics: req.Metrics != nil,
		Sessions: req.MaxSessions >= 0, SessionPath: req.sessionPath, Prefix: req.Prefix, Simulate: req.Simulate != nil, Simulated: simulated,
		Findings: req.Findings != nil, Requests: req.Requests, Page: !req.NoPage,
	}), '\n')}
	cached.Store(now)
	return now.document
}

// openAPI serves GET /_/openapi.json.
func (req *request) openAPI() error {
	return req.sendDescription(openapi.JSONType, req.document())
}

// sendDescription sends a description of the current database.
func (req *request) sendDescription(contentType string, text []byte) error {
	tag := httpx.Tag(text)
	if req.sendNotModified(tag) {
		return nil
	}
	return req.sendBody(contentType, tag, text)
}

// inferSchema serves GET /_/schema.json: the rules that pickup schema would make from
// the data.
func (req *request) inferSchema() error {
	var text []byte
	req.withBuildSlot(func() { text = describe.InferSchema(req.snap) })
	return req.sendDescription(openapi.SchemaType, text)
}

// schema serves GET /_/schemas/NAME: the JSON Schema of a record or of a singular
// resource, with everything that it refers to.
func (req *request) schema() error {
	name := req.Param("collection")
	if text, ok := openapi.RecordSchema(req.snap, name); ok {
		return req.sendDescription(openapi.SchemaType, append(text, '\n'))
	}
	return req.noCollection(req.snap, name)
}

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
		} else if file, err = inflate(file); err != nil {
			return err
		}
	}
	req.sendAsset(name, docsPolicy, httpx.Tag(file), file)
	return nil
}

func inflate(file []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// types serves GET /_/types.d.ts: TypeScript types of what is stored, of what
// requests take, and of the whole database.
func (req *request) types() error {
	return req.sendDescription(openapi.TypesType, openapi.TypeScript(req.snap))
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
	h.Set("Location", openapi.PagePath+"/")
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
	for _, name := range []string{"If-Match", "If-Unmodified-Since", "Range"} { // ignored, as in every other GET
		req.Request.Header.Del(name)
	}
	http.ServeContent(req.Writer, req.Request, name, time.Time{}, bytes.NewReader(text))
}
