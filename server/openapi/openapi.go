package openapi

import (
	"bytes"
	"cmp"
	_ "embed"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/describe"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
	"pickup/server/envelope"
)

// Options describe the service.
type Options struct {
	Version  string // "" if unknown
	ReadOnly bool   // writes are refused
	Auth     bool   // credentials are required
	Prefix   string // of the paths of the API, without a final slash
	Answers  *envelope.Form

	// Serves reports whether the service has a path below /_/.
	Serves func(path string) bool

	// SessionPath is the prefix of every path in a session's document.
	SessionPath string
}

// An apiDocument is the document of one snapshot under construction.
type apiDocument struct {
	Options
	snap  *database.Snapshot
	about *describe.Description
	ids   map[string]bool // operationIds in use
	tags  list
	paths object

	shared map[string]object // components of this document, by kind
}

// introduction describes the API as a whole, in Markdown.
//
//go:embed introduction.md
var introduction string

// Document returns the document of a snapshot as compact JSON.
func Document(snap *database.Snapshot, o Options) jsontext.Value {
	reserved := append(rawjson.MemberNames(rawjson.Get(fixedComponents, "schemas")), "Database")
	about := describe.Database(snap, describe.Options{Prefix: schemaPrefix, Reserved: reserved})
	d := &apiDocument{
		Options: o,
		snap:    snap,
		about:   about,
		ids:     make(map[string]bool),
		shared:  make(map[string]object),
	}
	for _, r := range d.about.Resources {
		if !HasPath(r.Name) {
			continue
		}
		d.tag(r.Name, cmp.Or(r.About, "The contents of "+r.Name+"."))
		d.resource(r, url.PathEscape(r.Name), r.Name)
		d.nested(r)
	}
	d.service()
	doc := object{
		{"openapi", "3.1.1"},
		{"info", object{
			{"title", cmp.Or(snap.Schema().Title(), "pickup")},
			{"summary", "The JSON file that pickup serves, as a REST API."},
			{"description", strings.TrimSpace(introduction)},
			{"contact", object{{"name", "pickup"}}},
			{"license", object{{"name", "MIT"}, {"identifier", "MIT"}}},
			{"version", cmp.Or(o.Version, "unknown")},
		}},
	}
	if d.about.Dialect != "" && !strings.Contains(d.about.Dialect, "2020-12") {
		doc = append(doc, entry{"jsonSchemaDialect", d.about.Dialect})
	}
	doc = append(doc, entry{"servers", servers(d.SessionPath + d.Prefix)})
	security := list{}
	if o.Auth {
		security = list{object{{"basic", list{}}}}
	}
	doc = append(doc,
		entry{"security", security},
		entry{"tags", d.tags},
		entry{"paths", d.paths},
		entry{"components", d.components()})
	return appendDocument(nil, doc)
}

// servers describes the server at a path.
func servers(path string) list {
	return list{object{{"url", cmp.Or(path, "/")}, {"description", "This server."}}}
}

func (d *apiDocument) tag(name, description string) {
	d.tags = append(d.tags, object{{"name", name}, {"description", description}})
}

// servicePaths are the paths of the service itself. Each operation gets errors and a tag.
//
//go:embed service.json
var servicePaths []byte

// service adds the resources of the service itself.
func (d *apiDocument) service() {
	d.tag("service", "The service itself.")
	kind, isField := d.snap.Kind("db")
	hidden := isField && kind != storage.Other // by a collection or object called db
	text := jsontext.Value("{")
	for path, operations := range rawjson.Fields(rawjson.Compact(servicePaths)) {
		if path == "/db" && !hidden || path != "/db" && d.Serves(path) {
			text = rawjson.AppendMember(text, path, operations)
		}
	}
	if !d.Auth {
		text = bytes.ReplaceAll(text, []byte(`,"security":[{},{"basic":[]}]`), nil)
	}
	if !d.Serves("/_/requests") {
		text = bytes.ReplaceAll(text, []byte(`,{"$ref":"#/components/parameters/changes._requests"}`), nil)
	}
	d.addPaths(append(text, '}'), "service", false)
}
