package server

import (
	"embed"
	"net/http"
	"path"
	"strconv"
	"strings"

	"pickup/internal/database"
	"pickup/internal/describe"
)

// The resources that describe the service, and the types of their answers.
const (
	openAPIPath = "/_/openapi"
	typesPath   = "/_/types.d.ts"
	docsPath    = "/_/docs"
	schemasPath = "/_/schemas/"

	yamlType   = "application/yaml" // RFC 9512
	typesType  = "text/plain; charset=utf-8"
	htmlType   = "text/html; charset=utf-8"
	schemaType = "application/schema+json"
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

// described is the document that was made last: it is the same until the
// database or its rules change.
type described struct {
	snap     *database.Snapshot
	document []byte
}

// document returns the OpenAPI document of the call's snapshot.
func (k *call) document() []byte {
	if last := k.described.Load(); last != nil && last.snap == k.snap {
		return last.document
	}
	now := &described{k.snap, k.openAPI(k.snap)}
	k.described.Store(now)
	return now.document
}

// descriptions are the resources that describe the service; path is without a
// slash at the end.
func (k *call) descriptions(path string) *kind {
	switch {
	case path == openAPIPath+".json":
		return &kind{get: (*call).openAPIJSON}
	case path == openAPIPath+".yaml":
		return &kind{get: (*call).openAPIYAML}
	case path == typesPath:
		return &kind{get: (*call).types}
	case path == docsPath || strings.HasPrefix(path, docsPath+"/"):
		return &kind{get: (*call).docs}
	case strings.HasPrefix(path, schemasPath):
		return &kind{get: (*call).schema}
	}
	return nil
}

// openAPIJSON answers GET /_/openapi.json.
func (k *call) openAPIJSON() error {
	return k.describe(jsonType, append(k.document(), '\n'))
}

// openAPIYAML answers GET /_/openapi.yaml: the same document in block style.
func (k *call) openAPIYAML() error {
	return k.describe(yamlType, toYAML(k.document()))
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
	about := describe.Database(k.snap, "#/$defs/")
	name := strings.TrimSuffix(strings.TrimPrefix(k.Request.URL.Path, schemasPath), "/")
	for _, r := range about.Resources {
		if r.Name != name {
			continue
		}
		dialect := about.Dialect
		if dialect == "" {
			dialect = "https://json-schema.org/draft/2020-12/schema"
		}
		doc := object{{"$schema", dialect}, {"$ref", "#/$defs/" + r.Record}}
		texts := make(map[string][]byte)
		for _, d := range about.Definitions {
			texts[d.Name] = d.Schema
		}
		reached := reachable("#/$defs/", texts, appendDocument(nil, doc))
		defs := object{}
		for _, d := range about.Definitions {
			if reached[d.Name] {
				defs = append(defs, entry{d.Name, d.Schema})
			}
		}
		doc = append(doc, entry{"$defs", defs})
		return k.describe(schemaType, append(appendDocument(nil, doc), '\n'))
	}
	return noCollection(k.snap, name)
}

// docs answers GET /_/docs: the page, and what it loads.
func (k *call) docs() error {
	name := strings.Trim(strings.TrimPrefix(k.Request.URL.Path, docsPath), "/")
	if name == "" {
		name = "index.html"
	}
	text, err := viewer.ReadFile("docs/" + name)
	if err != nil {
		return noResource(k.snap, k.Request.URL.Path)
	}
	contentType, ok := map[string]string{
		".html": htmlType, ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
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
