package server

import (
	"embed"
	"net/http"
	"path"
	"strconv"
	"strings"

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
func (k *call) describesAll() bool { return k.Request.URL.Query().Has("all") }

// document returns the OpenAPI document of the call's snapshot.
func (k *call) document() []byte {
	all, cached := k.describesAll(), &k.described
	if all {
		cached = &k.describedAll
	}
	if last := cached.Load(); last != nil && last.snap == k.snap {
		return last.document
	}
	now := &described{k.snap, openapi.Document(k.snap, openapi.Options{
		Version: k.Version, ReadOnly: k.ReadOnly, Auth: k.Auth != nil, Loopback: k.Loopback, Metrics: k.Metrics != nil, All: all,
	})}
	cached.Store(now)
	return now.document
}

// descriptions are the resources that describe the service; path is without a
// slash at the end.
func (k *call) descriptions(path string) *kind {
	switch {
	case path == openapi.OpenAPIPath:
		return &kind{get: (*call).openAPIJSON}
	case path == openapi.TypesPath:
		return &kind{get: (*call).types}
	case path == openapi.DocsPath || strings.HasPrefix(path, openapi.DocsPath+"/"):
		return &kind{get: (*call).docs}
	case strings.HasPrefix(path, openapi.SchemasPath):
		return &kind{get: (*call).schema}
	}
	return nil
}

// openAPIJSON answers GET /_/openapi.json.
func (k *call) openAPIJSON() error {
	return k.describe(openapi.JsonType, append(k.document(), '\n'))
}

// describe sends a description of what the database is at present.
func (k *call) describe(contentType string, text []byte) error {
	h := k.Writer.Header()
	h["Cache-Control"] = cacheControl
	h["Vary"] = vary
	send(k.Context, http.StatusOK, contentType, text)
	return nil
}

// schema answers GET /_/schemas/schedules: the JSON Schema of one record, or
// of a singular resource, with all that it refers to.
func (k *call) schema() error {
	name := strings.TrimSuffix(strings.TrimPrefix(k.Request.URL.Path, openapi.SchemasPath), "/")
	if text, ok := openapi.RecordSchema(k.snap, name); ok {
		return k.describe(openapi.SchemaType, append(text, '\n'))
	}
	return noCollection(k.snap, name)
}

// docs answers GET /_/docs: the page, and what it loads.
func (k *call) docs() error {
	name := strings.Trim(strings.TrimPrefix(k.Request.URL.Path, openapi.DocsPath), "/")
	if name == "" {
		name = "index.html"
	}
	text, err := viewer.ReadFile("docs/" + name)
	if err != nil {
		return noResource(k.snap, k.Request.URL.Path)
	}
	contentType, ok := map[string]string{
		".html": openapi.HtmlType, ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	}[path.Ext(name)]
	if !ok {
		contentType = "text/plain; charset=utf-8"
	}
	h := k.Writer.Header()
	h.Set("Content-Security-Policy", docsPolicy)
	h["Cache-Control"] = cacheControl
	// The files are those of this program: its version tells them apart.
	tag := strconv.Quote(k.Version + "-" + strconv.Itoa(len(text)))
	h.Set("ETag", tag)
	if k.Request.Header.Get("If-None-Match") == tag {
		k.Status(http.StatusNotModified)
		return nil
	}
	send(k.Context, http.StatusOK, contentType, text)
	return nil
}

// types answers GET /_/types.d.ts: TypeScript types of what is stored, of what
// requests take, and of the whole database.
func (k *call) types() error {
	return k.describe(openapi.TypesType, openapi.TypeScript(k.snap, k.describesAll()))
}
