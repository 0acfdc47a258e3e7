package openapi

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/describe"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// collection adds /schedules, /schedules/{id} and the lists below the
// records that these refer to.
func (d *apiDocument) collection(r describe.Resource) {
	path, one := "/"+url.PathEscape(r.Name), database.Singular(r.Name)
	example, body := d.examples(r)

	item := d.list(r, "", "All records, or those that match the filters.", example)
	item = append(item, d.create(r, "", "Create a record, or several.", "An array creates all of its records or none. A record without an id gets one.", r.Create, example, body))
	own := d.snap.KeyOf(one)
	if d.All {
		item = append(item, d.changes(r, "ByQuery", idParameters(own, "The id of the record, required under one of the names Id, id and "+own+"."), example, body)...)
	}
	d.path(r, path, nil, item)

	item = object{d.read(r, "Read one record.", "Related records can be added.", "The record.", example)}
	item = append(item, d.changes(r, "", idParameters(own, "The id again. If present, it must be that of the path."), example, body)...)
	d.path(r, path+"/{id}", idOf(one), item)

	for _, parent := range r.Parents {
		if HasPath(parent.Collection) {
			d.children(r, parent, example, body)
		}
	}
}

// children adds /drivers/{id}/schedules.
func (d *apiDocument) children(r describe.Resource, parent describe.Parent, example, body jsontext.Value) {
	one := database.Singular(parent.Collection)
	of := "Of" + capital(one)
	item := d.list(r, of, "The records whose "+parent.Member+" is the id of one of "+parent.Collection+".", example)
	item = append(item, d.create(r, of, "Create a record that refers to this one.", "The body may omit "+parent.Member+", which is filled in.", r.MergePatch, example, body))
	d.path(r, "/"+url.PathEscape(parent.Collection)+"/{id}/"+url.PathEscape(r.Name), idOf(one), item)
}

// singular adds a singular resource.
func (d *apiDocument) singular(r describe.Resource) {
	example, err := d.snap.Value(r.Name)
	if err != nil || d.snap.Schema().Member(r.Name).Faults(example) != nil {
		example = nil // it must conform to the rules
	}
	item := append(object{d.read(r, "Read "+r.Name+".", "It is a single object.", "The object.", example)}, d.writes(r, "", nil, example, nil)...)
	d.path(r, "/"+url.PathEscape(r.Name), nil, item)
}

// path adds a path with its parameters and operations, and OPTIONS.
func (d *apiDocument) path(r describe.Resource, path string, parameters list, item object) {
	if d.ReadOnly {
		item = slices.DeleteFunc(item, func(e entry) bool { return e.name != "get" && e.name != queryKey })
	}
	own := !strings.HasPrefix(path, SessionsPath) && !slices.Contains(serverPaths, path)
	switch {
	case !own && d.SessionPath != "":
		return
	case own && d.SessionPath == "" && d.Sessions:
		parameters = append(slices.Clone(parameters), d.parametersOf("Pickup-Session")...)
	}
	ofService := strings.HasPrefix(path+"/", PagePath+"/")
	if d.Simulate && !ofService {
		parameters = append(slices.Clone(parameters), d.parametersOf(simulated)...)
	}
	if d.All {
		get := item[0].value.(object)
		item = append(item, entry{"options", d.operation(r, "options"+capital(get[0].value.(string)), "List the allowed methods.",
			"The header Allow has them, and Accept-Patch the media types of a PATCH.", nil, nil,
			d.withErrors([]int{400, 401, 404, 414, 429}, entry{"204", response("Methods")}))})
	}
	if d.Prefix != "" && ofService {
		item = append(item, entry{"servers", servers(d.SessionPath)})
	}
	d.paths = append(d.paths, entry{path, append(object{}.with("parameters", parameters), item...)})
}

// operation returns an operation on a resource.
func (d *apiDocument) operation(r describe.Resource, id, summary, description string, parameters list, body, responses object) object {
	for d.ids[id] {
		id += "_"
	}
	d.ids[id] = true
	op := object{{"operationId", id}, {"tags", list{cmp.Or(r.Name, "service")}}, {"summary", summary}}
	return op.with("description", description).with("parameters", parameters).with("requestBody", body).with("responses", responses)
}

// queryKey is the key of the QUERY operation of a path. OpenAPI 3.2 calls it
// query; 3.1 has no place for it.
const queryKey = "x-query"

// list returns GET of a list, and QUERY with Options.All. The suffix of makes their
// operationIds unique.
func (d *apiDocument) list(r describe.Resource, of, description string, example jsontext.Value) object {
	name, records := plural(r)+of, arrayOf(d.part(r))
	if d.All {
		page := object{{"title", "A page of " + r.Name}, {"properties", object{{"data", records}}}}
		records = object{{"oneOf", list{records, object{{"allOf", list{ref("Page"), page}}}}}}
	}
	if example != nil {
		example = slices.Concat(jsontext.Value("["), example, jsontext.Value("]"))
	}
	asJSON := media(JSONType, records, example)
	item := object{{"get", d.operation(r, "list"+name, "List "+r.Name+".", description, d.listParameters(r), nil, d.withErrors(dataErrors,
		entry{"200", answer("The records, in the order of the file or of _sort.", listHeaders, d.forms(asJSON, table, events)...)}, notModified))}}
	if d.All {
		item = append(item, entry{queryKey, d.operation(r, "query"+name, "List "+r.Name+" by a condition.", "As GET; the body is a condition, in the form of the parameter _where.",
			d.listParameters(r), requestBody(media(JSONType, condition, nil)), d.withErrors(queryErrors,
				entry{"200", answer("The records, as of a GET.", listHeaders, asJSON, table)}, notModified))})
	}
	return item
}

// condition is not a component: tools ignore x-query, and would report it as unused.
var condition = object{{"description", "A condition, as in {\"or\": [{\"views\": {\"gt\": 10}}, {\"title\": {\"contains\": \"x\"}}]}."}, {"type", "object"}}

// read returns GET of a record or an object.
func (d *apiDocument) read(r describe.Resource, summary, details, description string, example jsontext.Value) entry {
	return entry{"get", d.operation(r, "get"+r.Record, summary, details, d.parametersOf(ofRecords, readHeads), nil, d.withErrors(dataErrors,
		entry{"200", answer(description, recordHeaders, d.forms(media(JSONType, d.part(r), example), table, events)...)}, notModified))}
}

// part returns the schema of a record, or of the part of it that _fields names.
func (d *apiDocument) part(r describe.Resource) object {
	if !d.All {
		return ref(r.Record)
	}
	return object{{"anyOf", list{ref(r.Record), ref("Part")}}}
}

// oneOrMany returns the schema of what the definition called name describes,
// or of an array of it.
func (d *apiDocument) oneOrMany(name string) object {
	if !d.All {
		return ref(name)
	}
	return object{{"oneOf", list{ref(name), arrayOf(ref(name))}}}
}

// create returns a POST whose body has the schema called name.
func (d *apiDocument) create(r describe.Resource, of, summary, description, name string, example, body jsontext.Value) entry {
	return entry{"post", d.operation(r, "create"+r.Record+of, summary, description, d.parametersOf(ofWrites),
		requestBody(media(JSONType, d.oneOrMany(name), body)), d.withErrors(writeErrors, d.created(r, example)))}
}

// created returns the response to an operation that has created something.
func (d *apiDocument) created(r describe.Resource, example jsontext.Value) entry {
	return entry{"201", answer("What was created, in the form of the body. With Prefer: return=minimal nothing.", createdHeaders,
		media(JSONType, d.oneOrMany(r.Record), example))}
}

// changes returns PUT, PATCH and DELETE of a record. The suffix makes their
// operationIds unique.
func (d *apiDocument) changes(r describe.Resource, suffix string, parameters list, example, body jsontext.Value) object {
	return append(d.writes(r, suffix, parameters, example, body), entry{"delete", d.operation(r, "delete"+r.Record+suffix, "Delete a record.",
		"The answer is the deleted record. The rules (x-ref with on-delete) and _dependent decide about the records that refer to it.",
		slices.Concat(parameters, d.parametersOf(ofDeletes)), nil, d.withErrors(writeErrors,
			entry{"200", answer("The record that was deleted.", restHeaders, media(JSONType, ref(r.Record), example))}, noContent))})
}

// writes returns PUT and PATCH.
func (d *apiDocument) writes(r describe.Resource, suffix string, parameters list, example, body jsontext.Value) object {
	parameters = slices.Concat(parameters, d.parametersOf(ofWrites))
	changed := object{{"200", answer("What is now stored, in the form of the body.", writtenHeaders, media(JSONType, d.oneOrMany(r.Record), example))}, noContent}
	replaced := changed
	summary, description := "Replace as a whole.", "The id and the position in the file are kept."
	if r.Kind == storage.Array && !d.snap.Schema().Member(r.Name).ReadOnlyID() {
		summary, description = "Replace as a whole, or create.", description+" With If-None-Match: * it creates a record with that id."
		replaced = append(slices.Clone(changed), d.created(r, example))
	}
	patch := d.oneOrMany(r.MergePatch)
	return object{
		{"put", d.operation(r, "replace"+r.Record+suffix, summary, description, parameters,
			requestBody(media(JSONType, d.oneOrMany(r.Replace), body)), d.withErrors(writeErrors, replaced...))},
		{"patch", d.operation(r, "update"+r.Record+suffix, "Change single members.",
			"As application/json the members of the body replace the stored ones; others are kept. A merge patch (RFC 7396) also removes and merges; a JSON Patch (RFC 6902) lists each change. Only changed members are checked.",
			parameters, requestBody(media(JSONType, patch, body), media(MergeType, patch, nil), media(PatchType, ref("JSONPatch"), nil)),
			d.withErrors(writeErrors, changed...))},
	}
}

// answer returns a response with a body of one of the media types.
func answer(description string, headers []string, content ...entry) object {
	return object{{"description", description}, {"headers", headersOf(headers...)}, {"content", object(content)}}
}

// media returns what a body of a media type is.
func media(mediaType string, schema any, example jsontext.Value) entry {
	content := object{{"schema", schema}}
	if example != nil {
		content = append(content, entry{"example", example})
	}
	return entry{mediaType, content}
}

// forms returns the forms of an answer that are described: without Options.All
// only JSON.
func (d *apiDocument) forms(asJSON entry, others ...entry) []entry {
	if !d.All {
		return []entry{asJSON}
	}
	return append([]entry{asJSON}, others...)
}

var (
	table       = media("text/csv", ref("Table"), nil)
	events      = media("text/event-stream", ref("Events"), nil)
	notModified = entry{"304", response("NotModified")}
	noContent   = entry{"204", response("NoContent")}
)

func requestBody(content ...entry) object {
	return object{{"required", true}, {"content", object(content)}}
}

func arrayOf(schema any) object { return object{{"type", "array"}, {"items", schema}} }

// examples returns the first record that conforms to the rules, and the same as
// a body without the id.
func (d *apiDocument) examples(r describe.Resource) (record, body jsontext.Value) {
	n := 0
	for e := range d.snap.All(r.Name) {
		if n++; n > 100 {
			break
		}
		if storage.IsPositionKey(e.ID) || len(e.Value) > 4<<10 || d.snap.Schema().Member(r.Name).Faults(e.Value) != nil {
			continue
		}
		body = jsontext.Value("{")
		for quoted, v := range rawjson.Members(e.Value) {
			name := rawjson.Unquote(quoted)
			if name != r.IDMember && !d.snap.Schema().Member(r.Name).Owns(name) {
				body = rawjson.AppendMember(body, name, v)
			}
		}
		return e.Value, append(body, '}')
	}
	return nil, nil
}

// plural returns the name of a collection for an operationId.
func plural(r describe.Resource) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(r.Name, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9')
	}) {
		b.WriteString(capital(word))
	}
	if b.Len() == 0 {
		return r.Record + "s"
	}
	return b.String()
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
