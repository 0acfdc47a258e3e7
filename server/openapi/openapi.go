package openapi

import (
	"bytes"
	_ "embed"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/describe"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

const componentPrefix = "#/components/schemas/"

// ownSchemas are the schemas of what is the same for every database: problems,
// filters, the index and so on, by their names among the components.
//
//go:embed schemas.json
var ownSchemas []byte

// Options describe the service.
type Options struct {
	Version  string // "" if unknown
	ReadOnly bool   // writes are refused
	Auth     bool   // credentials are required
	Loopback bool   // requests are refused unless Host names the loopback interface
	Metrics  bool   // metrics are served

	// All describes every form of a request and an answer: pages, parts of
	// records, tables, arrays of bodies and aliases. Without it a list is an
	// array, and a write sends and gets one record.
	All bool
}

// An apiDocument is the document of one snapshot under construction.
type apiDocument struct {
	Options
	snap  *database.Snapshot
	about *describe.Description
	ids   map[string]bool // operationIds in use
	tags  list
	paths object
}

// Document returns the document of a snapshot as compact JSON.
func Document(snap *database.Snapshot, o Options) jsontext.Value {
	reserved := append(rawjson.MemberNames(ownSchemas), "Database")
	about := describe.Database(snap, describe.Options{Prefix: componentPrefix, Reserved: reserved, Aliases: o.All})
	d := &apiDocument{Options: o, snap: snap, about: about, ids: make(map[string]bool)}
	for _, r := range d.about.Resources {
		if !HasPath(r.Name) {
			continue
		}
		about := r.About
		if about == "" {
			about = "The contents of " + r.Name + "."
		}
		d.tag(r.Name, about)
		if r.Kind == storage.Array {
			d.collection(r)
		} else {
			d.singular(r)
		}
	}
	d.own()

	version := o.Version
	if version == "" {
		version = "unknown"
	}
	doc := object{
		{"openapi", "3.1.1"},
		{"info", object{
			{"title", d.title()},
			{"summary", "The JSON file that pickup serves, as a REST API."},
			{"description", apiIntroduction},
			{"version", version},
		}},
	}
	if d.about.Dialect != "" && !strings.Contains(d.about.Dialect, "2020-12") {
		doc = append(doc, entry{"jsonSchemaDialect", d.about.Dialect})
	}
	doc = append(doc, entry{"servers", list{object{{"url", "/"}, {"description", "This server."}}}})
	security := list{}
	if o.Auth {
		security = list{object{{"basic", list{}}}}
	}
	doc = append(doc,
		entry{"security", security},
		entry{"tags", d.tags},
		entry{"paths", d.paths},
		entry{"components", used(d.components(), d.paths)})
	return appendDocument(nil, doc)
}

// used returns the components that the paths refer to. Linters report unused
// ones.
func used(components, paths object) object {
	texts := make(map[string][]byte)
	for _, sort := range components {
		for _, e := range sort.value.(object) {
			texts[sort.name+"/"+e.name] = appendDocument(nil, e.value)
		}
	}
	reached := reachable("#/components/", texts, appendDocument(nil, paths))
	out := object{}
	for _, sort := range components {
		kept := object{}
		for _, e := range sort.value.(object) {
			if sort.name == "securitySchemes" || reached[sort.name+"/"+e.name] {
				kept = append(kept, e)
			}
		}
		out = append(out, entry{sort.name, kept})
	}
	return out
}

// reachable returns the names of the texts that start refers to, directly or
// through other texts. A reference is prefix and a name.
func reachable(prefix string, texts map[string][]byte, start []byte) map[string]bool {
	reached := make(map[string]bool)
	for queue := [][]byte{start}; len(queue) > 0; queue = queue[1:] {
		for _, behind := range bytes.Split(queue[0], []byte(`"`+prefix))[1:] {
			name, _, _ := bytes.Cut(behind, []byte(`"`))
			if !reached[string(name)] {
				reached[string(name)] = true
				queue = append(queue, texts[string(name)])
			}
		}
	}
	return reached
}

const apiIntroduction = `Every collection of the file is a resource: list, read, create, replace, change, delete.

- A body is an object, or an array with one object (POST: any number). The answer has the form of the body.
- A trailing slash is ignored. HEAD is GET without a body; OPTIONS lists the methods.
- QUERY (RFC 10008) is a GET with a condition in its body. This version of OpenAPI cannot describe it; see x-query.
- Errors are problem documents (RFC 9457). Each fault in a body is listed with its JSON Pointer (RFC 6901).
- The document is live: it describes the current data and rules.
- With ?all it also describes pages, parts of records, tables, arrays of bodies and aliases.`

// title returns the title of the rules, or a default.
func (d *apiDocument) title() string {
	if t := d.snap.Schema().Title(); t != "" {
		return t
	}
	return "pickup"
}

func (d *apiDocument) tag(name, description string) {
	d.tags = append(d.tags, object{{"name", name}, {"description", description}})
}

// operationID returns id, or a similar one if it is in use.
func (d *apiDocument) operationID(id string) string {
	for d.ids[id] {
		id += "_"
	}
	d.ids[id] = true
	return id
}

// own adds the resources of the service itself.
func (d *apiDocument) own() {
	d.tag("service", "The service itself.")
	about := func(path, id, summary, media string, schema any, headers list) {
		op := object{{"operationId", d.operationID(id)}, {"tags", list{"service"}}, {"summary", summary}}
		responses := object{{"200", d.answer("The resource.", media, schema, headers, nil)}}
		if len(headers) > 0 { // it has an entity tag
			op = append(op, entry{"parameters", d.parametersOf(ofGets)})
			responses = append(responses, entry{"304", notModified})
		}
		if path == "/db" {
			d.addStream(responses[0].value.(object))
		}
		if path == DocsPath { // a file, which honours conditions of any kind
			responses = append(responses, entry{"412", d.answer("If-Match does not have the current entity tag.", media, schema, headers, nil)})
		}
		item := object{{"get", append(op, entry{"responses", d.withErrors(responses, readErrors)})}}
		if path == "/db" && !d.ReadOnly {
			item = append(item, entry{"patch", d.patchDatabase()})
		}
		d.path(describe.Resource{}, path, nil, item)
	}
	tagged := list{"ETag"}
	about("/", "getIndex", "The index: the collections, objects and service resources with their paths.", JSONType, ref("Index"), tagged)
	if kind, ok := d.snap.Kind("db"); !ok || kind == storage.Other {
		about("/db", "getDatabase", "The whole database as one object.", JSONType, ref("Database"), tagged)
	}
	d.listChanges()
	d.health()
	about(OpenAPIPath, "getOpenAPI", "This document.", JSONType, object{{"type", "object"}}, nil)
	about(TypesPath, "getTypes", "TypeScript types of records and bodies.", TypesType, textSchema, nil)
	about(DocsPath, "getDocs", "This document as an interactive page.", HTMLType, textSchema, tagged)
	if d.Metrics {
		about(MetricsPath, "getMetrics", "Metrics for Prometheus.", "text/plain", textSchema, nil)
	}
	for _, r := range d.about.Resources {
		if HasPath(r.Name) {
			about(SchemasPath+url.PathEscape(r.Name), "get"+r.Record+"Schema", "The JSON Schema of "+aRecordOf(r)+".", SchemaType, object{{"type", "object"}}, nil)
		}
	}
}

// listChanges adds the history.
func (d *apiDocument) listChanges() {
	get := d.operation(describe.Resource{}, "listChanges", "List the latest changes.", "The revisions that the server holds in memory, the newest first. With more than 1,000 changes a revision has only their number.", list{
		object{{"name", "_since"}, {"in", "query"}, {"description", "The id of a revision: only those after it. Of a stream also now, which leaves out the present revision."}, {"schema", textSchema}},
		object{{"name", "_limit"}, {"in", "query"}, {"description", "The maximum number of revisions. A stream has none."}, {"schema", numberSchema}},
		object{{"name", "_fields"}, {"in", "query"}, {"description", "id leaves out before and after."}, {"schema", object{{"type", "string"}, {"enum", list{"id"}}}}},
	})
	good := d.answer("The revisions.", JSONType, arrayOf(ref("Revision")), list{"ETag"}, nil)
	d.addStream(good)
	responses := d.withErrors(object{{"200", good}, {"304", notModified}}, append([]int{410}, readErrors...))
	d.path(describe.Resource{}, ChangesPath, nil, object{{"get", append(get, entry{"responses", responses})}})
}

// health adds the two resources that need no credentials.
func (d *apiDocument) health() {
	open := func(id, summary, description string) object {
		op := object{{"operationId", d.operationID(id)}, {"tags", list{"service"}}, {"summary", summary}, {"description", description}}
		if d.Auth {
			op = append(op, entry{"security", list{object{}, object{{"basic", list{}}}}})
		}
		return op
	}
	good := func() object { return d.answer("The resource.", JSONType, ref("Health"), nil, nil) }
	get := open("getLivez", "Whether the process is alive.", "It needs no credentials.")
	d.path(describe.Resource{}, LivezPath, nil, object{{"get", append(get, entry{"responses", d.withErrors(object{{"200", good()}}, []int{400, 414})})}})

	get = open("getReadyz", "Whether reads and writes are possible.", "It needs no credentials unless verbose is set.")
	get = append(get, entry{"parameters", list{object{
		{"name", "verbose"}, {"in", "query"}, {"description", "Also list the checks, and the findings that need attention. Needs credentials."},
		{"schema", textSchema}, {"allowEmptyValue", true},
	}}})
	broken := object{
		{"description", "The file is temporarily unusable. The answer is a problem, or with verbose a list of checks."},
		{"headers", headersOf(append(everyAnswer, "Retry-After"))},
		{"content", object{{ProblemType, object{{"schema", ref("Problem")}}}, {JSONType, object{{"schema", ref("Health")}}}}},
	}
	responses := d.withErrors(object{{"200", good()}}, []int{400, 401, 414, 429})
	d.path(describe.Resource{}, ReadyzPath, nil, object{{"get", append(get, entry{"responses", append(responses, entry{"503", broken})})}})
}

// aRecordOf returns the subject of a schema in words.
func aRecordOf(r describe.Resource) string {
	if r.Kind == storage.Array {
		return "a record of " + r.Name
	}
	return r.Name
}

// components returns the components of the document, whether used or not.
func (d *apiDocument) components() object {
	schemas := object{}
	for _, def := range d.about.Definitions {
		schemas = append(schemas, entry{def.Name, def.Schema})
	}
	properties := object{}
	for _, r := range d.about.Resources {
		schema := any(ref(r.Record))
		if r.Kind == storage.Array {
			schema = object{{"type", "array"}, {"items", schema}}
		}
		properties = append(properties, entry{r.Name, schema})
	}
	schemas = append(schemas, entry{"Database", object{
		{"description", "The whole database. It may have members that are neither collections nor objects."},
		{"type", "object"}, {"properties", properties},
	}})
	for name, schema := range rawjson.Members(ownSchemas) {
		schemas = append(schemas, entry{rawjson.Unquote(name), rawjson.Compact(schema)})
	}
	responses := object{}
	for _, e := range apiErrors {
		responses = append(responses, entry{e.name, e.response(d.All)})
	}
	parameters, headers := object{}, object{}
	for _, p := range apiParameters {
		parameters = append(parameters, entry{p.component(), p.object()})
	}
	for _, h := range apiHeaders {
		headers = append(headers, entry{h.name, h.object()})
	}
	return object{
		{"schemas", schemas},
		{"parameters", parameters},
		{"headers", headers},
		{"responses", responses},
		{"securitySchemes", object{{"basic", object{
			{"type", "http"}, {"scheme", "basic"}, {"description", "HTTP Basic (RFC 7617), UTF-8."},
		}}}},
	}
}

func ref(name string) object { return object{{"$ref", componentPrefix + name}} }

// answer returns a response with a body of one media type.
func (d *apiDocument) answer(description, media string, schema any, headers list, example jsontext.Value) object {
	content := object{{"schema", schema}}
	if example != nil {
		content = append(content, entry{"example", example})
	}
	return object{
		{"description", description},
		{"headers", headersOf(append(everyAnswer, headers...))},
		{"content", object{{media, content}}},
	}
}

// withErrors appends the errors with these statuses to responses.
func (d *apiDocument) withErrors(responses object, statuses []int) object {
	for _, e := range apiErrors {
		for _, status := range statuses {
			if e.status != status && !(e.always && status == statuses[0]) {
				continue
			}
			if (e.status == 401 || e.status == 429) && !d.Auth || e.status == 421 && !d.Loopback {
				continue
			}
			responses = append(responses, entry{strconv.Itoa(e.status), object{{"$ref", "#/components/responses/" + e.name}}})
			break
		}
	}
	return responses
}
