package openapi

import (
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
	path := "/" + url.PathEscape(r.Name)
	one := database.Singular(r.Name)
	example, body := d.examples(r)

	item := d.list(r, "", "All records, or those that match the filters.", example)
	if !d.ReadOnly {
		item = append(item, entry{"post", d.create(r, "create"+r.Record, "Create a record, or several.",
			"An array creates all of its records or none. A record without an id gets one.", r.Create, example, body)})
		item = append(item, d.changes(r, "ByQuery", idParameters(one+"Id", "The id of the record, required under one of the names Id, id and "+one+"Id."), example, body)...)
	}
	d.path(r, path, nil, item)

	get := d.operation(r, "get"+r.Record, "Read one record.", "", d.parametersOf(ofRecords|ofGets))
	item = object{{"get", append(get, entry{"responses", d.shown(recordHeaders, "The record.", d.part(r), example)})}}
	if !d.ReadOnly {
		item = append(item, d.changes(r, "", idParameters(one+"Id", "The id again. If present, it must be that of the path."), example, body)...)
	}
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
	if !d.ReadOnly {
		item = append(item, entry{"post", d.create(r, "create"+r.Record+of, "Create a record that refers to this one.", "The body may omit "+parent.Member+", which is filled in.", r.MergePatch, example, body)})
	}
	d.path(r, "/"+url.PathEscape(parent.Collection)+"/{id}/"+url.PathEscape(r.Name), idOf(one), item)
}

// singular adds a singular resource.
func (d *apiDocument) singular(r describe.Resource) {
	v, err := d.snap.Value(r.Name)
	if err != nil {
		return // the snapshot has it
	}
	if d.snap.Schema().Member(r.Name).Faults(v) != nil {
		v = nil // an example must conform to the rules
	}
	get := d.operation(r, "get"+r.Record, "Read "+r.Name+".", "", d.parametersOf(ofRecords|ofGets))
	item := object{{"get", append(get, entry{"responses", d.shown(recordHeaders, "The object.", d.part(r), v)})}}
	if !d.ReadOnly {
		item = append(item, d.writes(r, "", nil, v, nil)...)
	}
	d.path(r, "/"+url.PathEscape(r.Name), nil, item)
}

// idOf returns the parameter of a path, the id of one of a collection.
func idOf(one string) list {
	return list{object{
		{"name", "id"}, {"in", "path"}, {"required", true}, {"description", "The id of the " + one + ", as text."},
		{"schema", textSchema},
	}}
}

// path adds a path with its parameters and operations, and OPTIONS.
func (d *apiDocument) path(r describe.Resource, path string, parameters list, item object) {
	id := "options"
	for _, e := range item {
		if op, ok := e.value.(object); ok && e.name == "get" {
			id += capital(op[0].value.(string)) // its operationId
		}
	}
	headers := everyAnswer
	for _, e := range item {
		switch e.name {
		case "patch":
			headers = append(headers, "Accept-Patch")
		case queryKey:
			headers = append(headers, "Accept-Query")
		}
	}
	// It is not required: the answer to a browser's preflight has none.
	allow := object{{"description", "The methods of the resource."}, {"schema", textSchema}}
	options := object{{"operationId", d.operationID(id)}}
	tag := "service"
	if r.Name != "" {
		tag = r.Name
	}
	options = append(options, entry{"tags", list{tag}}, entry{"summary", "Ask for the methods."},
		entry{"responses", d.withErrors(object{{"204", object{{"description", "The methods and their media types."}, {"headers", append(headersOf(headers), entry{"Allow", allow})}}}}, []int{400, 401, 404, 414, 429})})
	whole := object{}.with("parameters", parameters)
	d.paths = append(d.paths, entry{path, append(append(whole, item...), entry{"options", options})})
}

// queryKey is the key of the QUERY operation of a path. OpenAPI 3.2 calls it
// query; 3.1 has no place for it.
const queryKey = "x-query"

// list returns GET and QUERY of a list. The suffix of makes their operationIds
// unique.
func (d *apiDocument) list(r describe.Resource, of, description string, example jsontext.Value) object {
	name := plural(r) + of
	get := d.operation(r, "list"+name, "List "+r.Name+".", description, d.listParameters(r))
	query := d.operation(r, "query"+name, "List "+r.Name+" by a condition.", "As GET; the body is a condition, in the form of the parameter _where.", d.listParameters(r))
	query = append(query, entry{"requestBody", object{{"required", true}, {"content", object{{JSONType, object{{"schema", object{
		{"description", "A condition, as in {\"or\": [{\"views\": {\"gt\": 10}}, {\"title\": {\"contains\": \"x\"}}]}."},
		{"type", "object"},
	}}}}}}}})
	records := d.listed(r)
	return object{
		{"get", append(get, entry{"responses", d.shown(listHeaders, "The records, in the order of the file or of _sort.", records, arrayExample(example))})},
		{queryKey, append(query, entry{"responses", d.withErrors(d.reads(listHeaders, "The records, as of a GET.", records, arrayExample(example)), queryErrors)})},
	}
}

// part returns the schema of a record, or of the part of it that _fields names.
func (d *apiDocument) part(r describe.Resource) object {
	if !d.All {
		return ref(r.Record)
	}
	return object{{"anyOf", list{ref(r.Record), ref("Part")}}}
}

// listed returns the schema of a list, plain or as a page.
func (d *apiDocument) listed(r describe.Resource) object {
	records := arrayOf(d.part(r))
	if !d.All {
		return records
	}
	number := func(description string) object { return object{{"description", description}, numberSchema[0]} }
	other := func(description string) object {
		return object{{"description", description}, {"type", list{"integer", "null"}}}
	}
	return object{{"oneOf", list{records, object{
		{"title", "A page of " + r.Name},
		{"type", "object"},
		{"required", list{"first", "prev", "next", "last", "pages", "items", "data"}},
		{"properties", object{
			{"first", number("The number of the first page: 1.")},
			{"prev", other("The number of the previous page, or null.")},
			{"next", other("The number of the next page, or null.")},
			{"last", number("The number of the last page.")},
			{"pages", number("The number of pages.")},
			{"items", number("The number of records on all pages.")},
			{"data", records},
		}},
	}}}}
}

// oneOrMany returns the schema of what the definition called name describes,
// or of an array of it.
func (d *apiDocument) oneOrMany(name string) object {
	if !d.All {
		return ref(name)
	}
	return object{{"oneOf", list{ref(name), arrayOf(ref(name))}}}
}

// shown returns the responses to a GET of records.
func (d *apiDocument) shown(headers list, description string, schema object, example jsontext.Value) object {
	responses := d.reads(headers, description, schema, example)
	d.addStream(responses[0].value.(object))
	return d.withErrors(responses, readErrors)
}

// addStream adds to a response of a GET that it may be a stream.
func (d *apiDocument) addStream(response object) {
	if d.All {
		response[2].value = append(response[2].value.(object), entry{"text/event-stream", object{{"schema", object{
			{"description", "Server-sent events, if Accept prefers them: reset with the present state, then created, updated and deleted, each once it is durable; broken and mended if an edit breaks and repairs the file."}, {"type", "string"},
		}}}})
	}
}

// reads returns the successful responses to a read.
func (d *apiDocument) reads(headers list, description string, schema any, example jsontext.Value) object {
	good := d.answer(description, JSONType, schema, headers, example)
	if d.All {
		good[2].value = append(good[2].value.(object), entry{"text/csv", object{{"schema", object{
			{"description", "The records as a table (RFC 4180), if Accept prefers it: a column for each member."}, {"type", "string"},
		}}}})
	}
	return object{{"200", good}, {"304", notModified}}
}

var notModified = object{
	{"description", "Not modified: If-None-Match has the current entity tag."},
	{"headers", headersOf(append(everyAnswer, recordHeaders...))},
}

var noContent = object{
	{"description", "Done, with Prefer: return=minimal."},
	{"headers", headersOf(append(everyAnswer, recordHeaders...))},
}

// operation begins an operation on a resource.
func (d *apiDocument) operation(r describe.Resource, id, summary, description string, parameters list) object {
	tag := r.Name
	if tag == "" {
		tag = "service"
	}
	op := object{{"operationId", d.operationID(id)}, {"tags", list{tag}}, {"summary", summary}}
	return op.with("description", description).with("parameters", parameters)
}

// create returns a POST whose body has the schema called name.
func (d *apiDocument) create(r describe.Resource, id, summary, description, name string, example, body jsontext.Value) object {
	op := d.operation(r, id, summary, description, d.parametersOf(ofWrites))
	op = append(op, entry{"requestBody", requestBody(d.oneOrMany(name), body)})
	return append(op, entry{"responses", d.withErrors(object{{"201", d.created(r, example)}}, writeErrors)})
}

// created returns the response to what has created something.
func (d *apiDocument) created(r describe.Resource, example jsontext.Value) object {
	return d.answer("What was created, in the form of the body. With Prefer: return=minimal nothing.", JSONType,
		d.oneOrMany(r.Record), createdHeaders, example)
}

// changes returns PUT, PATCH and DELETE of a record. The suffix makes their
// operationIds unique.
func (d *apiDocument) changes(r describe.Resource, suffix string, parameters list, example, body jsontext.Value) object {
	ops := d.writes(r, suffix, parameters, example, body)
	op := d.operation(r, "delete"+r.Record+suffix, "Delete a record.", "The answer is the deleted record. The rules (x-ref with on-delete) and _dependent decide about the records that refer to it.",
		slices.Concat(parameters, d.parametersOf(ofWrites|ofDeletes)))
	responses := object{{"200", d.answer("The record that was deleted.", JSONType, ref(r.Record), restHeaders, example)}, {"204", noContent}}
	return append(ops, entry{"delete", append(op, entry{"responses", d.withErrors(responses, writeErrors)})})
}

// writes returns PUT and PATCH.
func (d *apiDocument) writes(r describe.Resource, suffix string, parameters list, example, body jsontext.Value) object {
	parameters = slices.Concat(parameters, d.parametersOf(ofWrites))
	stored := object{{"200", d.answer("What is now stored, in the form of the body.", JSONType,
		d.oneOrMany(r.Record), recordHeaders, example)}}

	put := d.operation(r, "replace"+r.Record+suffix, "Replace as a whole.", "The id and the position in the file are kept.", parameters)
	replaced := stored
	if r.Kind == storage.Array && !d.snap.Schema().Member(r.Name).ReadOnlyID() {
		put = d.operation(r, "replace"+r.Record+suffix, "Replace as a whole, or create.", "The id and the position in the file are kept. With If-None-Match: * it creates a record with that id.", parameters)
		replaced = append(slices.Clone(stored), entry{"201", d.created(r, example)})
	}
	put = append(put, entry{"requestBody", requestBody(d.oneOrMany(r.Replace), body)},
		entry{"responses", d.withErrors(append(slices.Clone(replaced), entry{"204", noContent}), writeErrors)})

	patch := d.operation(r, "update"+r.Record+suffix, "Change single members.",
		"As application/json the members of the body replace the stored ones; others are kept. A merge patch (RFC 7396) also removes and merges; a JSON Patch (RFC 6902) lists each change. Only changed members are checked.", parameters)
	sent := requestBody(d.oneOrMany(r.MergePatch), body)
	sent[1].value = append(sent[1].value.(object),
		entry{MergeType, object{{"schema", d.oneOrMany(r.MergePatch)}}},
		entry{PatchType, object{{"schema", ref("JSONPatch")}}})
	patch = append(patch, entry{"requestBody", sent},
		entry{"responses", d.withErrors(append(slices.Clone(stored), entry{"204", noContent}), writeErrors)})
	return object{{"put", put}, {"patch", patch}}
}

// patchDatabase returns PATCH /db.
func (d *apiDocument) patchDatabase() object {
	op := d.operation(describe.Resource{}, "patchDatabase", "Change any number of records and collections, all or none.", "The answer is the database after the change.", d.parametersOf(ofWrites))
	op = append(op, entry{"requestBody", object{{"required", true}, {"content", object{{PatchType, object{{"schema", ref("JSONPatch")}}}}}}})
	responses := object{{"200", d.answer("The database after the change.", JSONType, ref("Database"), restHeaders, nil)}, {"204", noContent}}
	return append(op, entry{"responses", d.withErrors(responses, writeErrors)})
}

func requestBody(schema any, example jsontext.Value) object {
	content := object{{"schema", schema}}
	if example != nil {
		content = append(content, entry{"example", example})
	}
	return object{{"required", true}, {"content", object{{JSONType, content}}}}
}

func arrayOf(schema any) object { return object{{"type", "array"}, {"items", schema}} }

func arrayExample(v jsontext.Value) jsontext.Value {
	if v == nil {
		return nil
	}
	return append(append(jsontext.Value("["), v...), ']')
}

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
			if name != r.IDMember {
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
