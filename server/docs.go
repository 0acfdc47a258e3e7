package server

import (
	"embed"
	"net/http"
	"path"
	"strconv"

	"pickup/internal/database"

	"pickup/server/openapi"
)

// viewer is the page that shows the document: swagger-ui-dist as it comes from
// npm, with its licence. It works without the network.
//
//go:embed docs
var viewer embed.FS

// docsPolicy lets the page load what comes from this server and nothing else.
// The viewer sets styles on its elements, and has its icons in the style sheet.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// described is a document that was made. It is valid until the database or its
// rules change.
type described struct {
	snap     *database.Snapshot
	document []byte
}

// describesAll reports whether the request asks for a description of every form
// of a request and an answer (?all).
func (req *request) describesAll() bool { return req.Request.URL.Query().Has("all") }

// document returns the OpenAPI document of the call's snapshot.
func (req *request) document() []byte {
	all, cached := req.describesAll(), &req.described
	if all {
		cached = &req.describedAll
	}
	if last := cached.Load(); last != nil && last.snap == req.snap {
		return last.document
	}
	now := &described{req.snap, openapi.Document(req.snap, openapi.Options{
		Version: req.Version, ReadOnly: req.ReadOnly, Auth: req.Auth != nil, Loopback: req.Loopback, Metrics: req.Metrics != nil, All: all,
	})}
	cached.Store(now)
	return now.document
}

// openAPI answers GET /_/openapi.json.
func (req *request) openAPI() error {
	return req.sendDescription(openapi.JsonType, append(req.document(), '\n'))
}

// describe sends a description of what the database is at present.
func (req *request) sendDescription(contentType string, text []byte) error {
	h := req.Writer.Header()
	h["Cache-Control"] = cacheControl
	h["Vary"] = vary
	send(req.Context, http.StatusOK, contentType, text)
	return nil
}

// schema answers GET /_/schemas/schedules: the JSON Schema of one record, or
// of a singular resource, with all that it refers to.
func (req *request) schema() error {
	name := req.Param("collection")
	if text, ok := openapi.RecordSchema(req.snap, name); ok {
		return req.sendDescription(openapi.SchemaType, append(text, '\n'))
	}
	return noCollection(req.snap, name)
}

// docs answers GET /_/docs: the page, and what it loads.
func (req *request) docs() error {
	name := req.Param("file")
	if name == "" {
		name = "index.html"
	}
	text, err := viewer.ReadFile("docs/" + name)
	if err != nil {
		return noResource(req.snap, req.Request.URL.Path)
	}
	contentType, ok := map[string]string{
		".html": openapi.HtmlType, ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	}[path.Ext(name)]
	if !ok {
		contentType = "text/plain; charset=utf-8"
	}
	h := req.Writer.Header()
	h.Set("Content-Security-Policy", docsPolicy)
	h["Cache-Control"] = cacheControl
	// The files are those of this program: its version tells them apart.
	tag := strconv.Quote(req.Version + "-" + strconv.Itoa(len(text)))
	h.Set("ETag", tag)
	if req.Request.Header.Get("If-None-Match") == tag {
		req.Status(http.StatusNotModified)
		return nil
	}
	send(req.Context, http.StatusOK, contentType, text)
	return nil
}

// types answers GET /_/types.d.ts: TypeScript types of what is stored, of what
// requests take, and of the whole database.
func (req *request) types() error {
	return req.sendDescription(openapi.TypesType, openapi.TypeScript(req.snap, req.describesAll()))
}
