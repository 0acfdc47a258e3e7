package openapi

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/describe"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Options describe the service.
type Options struct {
	Version  string // "" if unknown
	ReadOnly bool   // writes are refused
	Auth     bool   // credentials are required
	Loopback bool   // requests are refused unless Host names the loopback interface
	Metrics  bool   // metrics are served
	Sessions bool   // there are sessions
	Simulate bool   // there are simulated answers
	Page     bool   // there is a page that shows the data
	Findings bool   // findings are listed
	Requests bool   // requests are recorded
	Prefix   string // of the paths of the API, without a final slash

	// Simulated is Markdown about what is simulated at present, "" for nothing.
	Simulated string

	// SessionPath is what all paths begin with if the document is that of a session.
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

// Document returns the document of a snapshot as compact JSON.
func Document(snap *database.Snapshot, o Options) jsontext.Value {
	schemas, _ := rawjson.Member(fixedComponents, "schemas")
	reserved := append(rawjson.MemberNames(schemas), "Database")
	about := describe.Database(snap, describe.Options{Prefix: schemaPrefix, Reserved: reserved})
	d := &apiDocument{Options: o, snap: snap, about: about, ids: make(map[string]bool), shared: make(map[string]object)}
	for _, r := range d.about.Resources {
		if !HasPath(r.Name) {
			continue
		}
		d.tag(r.Name, cmp.Or(r.About, "The contents of "+r.Name+"."))
		if r.Kind == storage.Array {
			d.collection(r)
		} else {
			d.singular(r)
		}
	}
	d.service()
	doc := object{
		{"openapi", "3.1.1"},
		{"info", object{
			{"title", cmp.Or(snap.Schema().Title(), "pickup")},
			{"summary", "The JSON file that pickup serves, as a REST API."},
			{"description", apiIntroduction + o.Simulated},
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

const apiIntroduction = `Every collection of the file is a resource: list, read, create, replace, change, delete.

- A list is an array and a body is one record, as here. There are other forms, too: with \_page and \_per\_page a page {first, prev, next, last, pages, items, data}; with \_fields parts of records; with Accept: text/csv a table; with Accept: text/event-stream the changes as they happen, from \_since or Last-Event-ID on.
- A body may be an array with one object (POST: any number); the answer has the form of the body. Fields may have their aliases. The id of a PUT, PATCH or DELETE may be a parameter, as in ?Id=4.
- A trailing slash is ignored. HEAD is GET without a body; OPTIONS lists the methods. QUERY (RFC 10008) is a GET with a condition in its body.
- \_delay, \_code, \_fault and \_hold simulate slow and failing answers; \_ is ignored.
- Every answer has X-Request-Id and, if it read or changed data, Pickup-Revision; sent with a read, it asks for a state that is not older. In a cluster Age says how old data may be. A GET has an ETag, and with If-None-Match its answer may be 304. Preference-Applied lists what was preferred, and Pickup-Unchanged: 1 means that a write made no revision.
- Pickup-Session: NAME makes a request one of a session, a copy of the database for one test. The answer repeats it, with Pickup-Session-New: 1 if it has begun the session. Pickup-Simulated says what was simulated.
- Errors are problem documents (RFC 9457). Each fault in a body is listed with its JSON Pointer (RFC 6901).`

func (d *apiDocument) tag(name, description string) {
	d.tags = append(d.tags, object{{"name", name}, {"description", description}})
}

// service adds the resources of the service itself.
func (d *apiDocument) service() {
	d.tag("service", "The service itself.")
	add := func(path, id, summary, description, parameters string, responses object, more ...entry) {
		get := d.operation(describe.Resource{}, id, summary, description, d.parametersOf(parameters), nil, responses)
		if d.Auth && (path == LivezPath || path == ReadyzPath) {
			get = append(get, entry{"security", list{object{}, object{{"basic", list{}}}}})
		}
		d.path(describe.Resource{}, path, nil, append(object{{"get", get}}, more...))
	}
	good := func(headers []string, content ...entry) entry {
		return entry{"200", answer("The resource.", headers, content...)}
	}
	tagged := func(content ...entry) object {
		return answers(good(nil, content...), notModified)
	}
	description := func(path, id, summary, details, mediaType string, schema object) {
		add(path, id, summary, details, "", tagged(media(mediaType, schema, nil)))
	}
	whole := media(JSONType, ref("Database"), nil)
	health := good(nil, media(JSONType, ref("Health"), nil))
	page := media(HTMLType, textSchema, nil)

	add("/", "getIndex", "List the resources.", "The collections, objects and service resources with their paths. A browser is sent to the page.", "If-None-Match Prefer",
		tagged(media(JSONType, ref("Index"), nil)))
	if kind, ok := d.snap.Kind("db"); !ok || kind == storage.Other {
		add("/db", "getDatabase", "Read the whole database.", "As one object.", "If-None-Match Prefer", tagged(whole),
			entry{"patch", d.operation(describe.Resource{}, "patchDatabase", "Change any number of records and collections, all or none.",
				"The answer is the database after the change.", d.parametersOf(ofWrites), requestBody(media(PatchType, ref("JSONPatch"), nil)),
				answers(entry{"200", answer("The database after the change.", nil, whole)}, noContent))})
	}
	ofChanges := "changes._since changes._limit changes._fields changes._streams"
	if d.Requests {
		ofChanges += " changes._requests"
	}
	add(ChangesPath, "listChanges", "List the latest changes.",
		"The revisions that the server holds in memory, the newest first. With more than 1,000 changes a revision has only their number.",
		ofChanges, answers(
			good(nil, media(JSONType, arrayOf(ref("Revision")), nil)), notModified))
	d.earlier()
	d.path(describe.Resource{}, StatusPath, nil, object{d.reading("getStatus", "Read the state of the service.", "That of its collections and its file, and what is possible.", []string{"ETag"},
		media(JSONType, ref("Status"), nil))})
	d.path(describe.Resource{}, ValuesPath+"/{collection}/{member}", d.parametersOf("values.collection values.member values.q values._limit"),
		object{d.reading("listValues", "List the values of a member.", "The most frequent comes first.", nil, media(JSONType, arrayOf(ref("ValueCount")), nil))})
	if d.Findings {
		add(FindingsPath, "listFindings", "List what is wrong with the file.", "First the edits that have undone what clients had written, then the elements that no URL reaches, then the values that break a rule.",
			"findings._start findings._end", answers(
				good([]string{"X-Total-Count"}, media(JSONType, arrayOf(ref("Finding")), nil)), notModified))
		d.path(describe.Resource{}, FindingsPath+"/{id}", d.parametersOf("finding"), object{
			d.writing("delete", "dismissFinding", "Dismiss an edit.", "It is no longer among the findings. It can still be undone.", "", nil, noContent)})
	}
	if d.Requests {
		d.requests()
	}
	add(LivezPath, "getLivez", "Whether the process is alive.", "It needs no credentials.", "", answers(health))
	add(ReadyzPath, "getReadyz", "Whether reads and writes are possible.", "It needs no credentials unless verbose is set.", "verbose",
		answers(health, entry{"503", response("NotReady")}))
	description(OpenAPIPath, "getOpenAPI", "Read this document.", "It describes the current data and rules.", JSONType, object{{"type", "object"}})
	description(SchemaPath, "inferSchema", "Make rules from the data.", "The text that pickup schema would write next to the file.", SchemaType, object{{"type", "object"}})
	description(TypesPath, "getTypes", "Read TypeScript types.", "Those of records and bodies, under the names of this document.", TypesType, textSchema)
	add(DocsPath, "getDocs", "Open this document as a page.", "Its operations can be tried there.", "",
		tagged(page))
	if d.Page {
		add(PagePath, "getPage", "Open the page.", "It shows the data and what happens to it.", "",
			tagged(page))
	}
	if d.Metrics {
		add(MetricsPath, "getMetrics", "Read metrics.", "In the text format of Prometheus.", "", answers(good(nil, media("text/plain", textSchema, nil))))
	}
	d.sessions()
	if d.Simulate {
		d.simulation()
	}
	d.path(describe.Resource{}, SchemasPath+"{name}", d.parametersOf("schema"), object{d.reading("getSchema", "Read the JSON Schema of a record.", "Or of an object, with everything that it refers to.",
		nil, media(SchemaType, object{{"type", "object"}}, nil))})
}

// earlier adds what leads back to an earlier state, and the named snapshots.
func (d *apiDocument) earlier() {
	restore := func(path, id, summary, description, schema string) {
		if !d.ReadOnly {
			d.path(describe.Resource{}, path, nil, object{{"post", d.operation(describe.Resource{}, id, summary, description, d.parametersOf(ofWrites),
				object{{"content", object{media(JSONType, ref(schema), nil)}}}, answers(restored, noContent))}})
		}
	}
	restore(UndoPath, "undo", "Undo a change.", "Restores what the newest change through the API has replaced that is not undone; if repeated, the change before it. A revision that is named may be an edit of the file. Nothing is undone if other changes are in the way.", "UndoRequest")
	restore(ResetPath, "reset", "Restore an earlier state.", "Restores a named snapshot, or the contents at the start or at the latest edit of the file.", "ResetRequest")

	conditions := "If-Match If-None-Match"
	kept := answer("The snapshot.", nil, media(JSONType, ref("NamedSnapshot"), nil))
	d.path(describe.Resource{}, SnapshotsPath, nil, object{d.reading("listSnapshots", "List the named snapshots.", "The oldest comes first.", nil, media(JSONType, arrayOf(ref("NamedSnapshot")), nil))})
	d.path(describe.Resource{}, SnapshotsPath+"/{id}", d.parametersOf("snapshot"), object{
		d.reading("getSnapshot", "Read a named snapshot.", "The whole database as it was.", nil, media(JSONType, ref("Database"), nil)),
		d.writing("put", "keepSnapshot", "Keep the present state.", "In memory, under a name. A snapshot of that name is replaced.", conditions, nil, entry{"200", kept}, entry{"201", kept}),
		d.writing("delete", "forgetSnapshot", "Forget a named snapshot.", "The database does not change.", conditions, nil, noContent),
	})
}

// requests adds the latest requests.
func (d *apiDocument) requests() {
	list := answers(entry{"200", answer("The requests, the newest first.", nil, media(JSONType, arrayOf(ref("Request")), nil))})
	d.path(describe.Resource{}, RequestsPath, nil, object{
		{"get", d.operation(describe.Resource{}, "listRequests", "List the latest requests.",
			"Requests of the service's own page and for its resources are left out. The stream of "+ChangesPath+" has those to come.", d.parametersOf("requests._since"), nil, append(list, notModified))},
		d.writing("delete", "clearRequests", "Forget the requests.", "New ones are kept from then on.", "", nil, noContent)})
	d.path(describe.Resource{}, RequestsPath+"/{id}", d.parametersOf("request"), object{
		{"get", d.operation(describe.Resource{}, "getRequest", "Read a request.", "With its body and the body of its answer.", nil, nil,
			answers(entry{"200", answer("The request.", nil, media(JSONType, ref("RequestBodies"), nil))}, notModified))}})
}

// reading returns the GET of a resource of the service.
func (d *apiDocument) reading(id, summary, description string, headers []string, content ...entry) entry {
	return entry{"get", d.operation(describe.Resource{}, id, summary, description, nil, nil,
		answers(entry{"200", answer("The resource.", headers, content...)}, notModified))}
}

// writing returns a method that changes a resource of the service.
func (d *apiDocument) writing(method, id, summary, description, parameters string, body object, responses ...entry) entry {
	return entry{method, d.operation(describe.Resource{}, id, summary, description, d.parametersOf(parameters), body, answers(responses...))}
}

// restored is the answer of undo and of all that resets.
var restored = entry{"200", answer("What has changed.", nil, media(JSONType, ref("Restored"), nil))}
