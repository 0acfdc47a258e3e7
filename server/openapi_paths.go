package server

import (
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup"
)

// collection describes /schedules, /schedules/{id} and the lists below the
// records that these refer to.
func (d *apiDocument) collection(r pickup.Resource) {
	path := "/" + url.PathEscape(r.Name)
	one := pickup.Singular(r.Name)
	own := one + "Id"
	example, body := d.examples(r)

	list200 := object{{"200", d.answer("The records in the order of the file.", jsonType, arrayOf(ref(r.Record)), arrayExample(example))}}
	get := d.operation(r, "list"+plural(r), "List "+r.Name+".",
		"All records, or those whose members equal the parameters. A member inside another is reached by a path such as a.b.",
		d.readParameters(r, true))
	item := object{{"get", append(get, entry{"responses", d.withErrors(list200, readErrors)})}}
	if !d.ReadOnly {
		item = append(item, entry{"post", d.create(r, "create"+r.Record, "Create a record, or several.",
			"An array creates all of its records or none. The id is made here where the body has none.", r.Create, example, body)})
		item = append(item, d.changes(r, "ByQuery", idParameters(own), example, body)...)
	}
	d.paths = append(d.paths, entry{path, item})

	id := object{
		{"name", "id"}, {"in", "path"}, {"required", true}, {"description", "The id of the " + one + ", as text."},
		{"schema", object{{"type", "string"}}},
	}
	single := object{{"200", d.answer("The record.", jsonType, ref(r.Record), example)}}
	get = d.operation(r, "get"+r.Record, "Read one record.", "", d.readParameters(r, false))
	item = object{{"parameters", list{id}}, {"get", append(get, entry{"responses", d.withErrors(single, readErrors)})}}
	if !d.ReadOnly {
		item = append(item, d.changes(r, "", nil, example, body)...)
	}
	d.paths = append(d.paths, entry{path + "/{id}", item})

	for _, parent := range r.Parents {
		if hasPath(parent.Collection) {
			d.children(r, parent, example, body)
		}
	}
}

// children describes /drivers/{id}/schedules.
func (d *apiDocument) children(r pickup.Resource, parent pickup.Parent, example, body jsontext.Value) {
	one := pickup.Singular(parent.Collection)
	id := object{
		{"name", "id"}, {"in", "path"}, {"required", true}, {"description", "The id of the " + one + ", as text."},
		{"schema", object{{"type", "string"}}},
	}
	of := "Of" + capital(one)
	get := d.operation(r, "list"+plural(r)+of, "List the "+r.Name+" of one of "+parent.Collection+".", "Those whose "+parent.Member+" is the id.", d.readParameters(r, true))
	responses := object{{"200", d.answer("The records in the order of the file.", jsonType, arrayOf(ref(r.Record)), arrayExample(example))}}
	item := object{{"parameters", list{id}}, {"get", append(get, entry{"responses", d.withErrors(responses, readErrors)})}}
	if !d.ReadOnly {
		item = append(item, entry{"post", d.create(r, "create"+r.Record+of, "Create a record that refers to this one.", "The body need not have "+parent.Member+": it is filled in.", parent.Create, example, body)})
	}
	d.paths = append(d.paths, entry{"/" + url.PathEscape(parent.Collection) + "/{id}/" + url.PathEscape(r.Name), item})
}

// singular describes a singular resource.
func (d *apiDocument) singular(r pickup.Resource) {
	v, err := d.snap.Value(r.Name)
	if err != nil {
		return // never: it is one of the snapshot's own
	}
	get := d.operation(r, "get"+r.Record, "Read "+r.Name+".", "", nil)
	item := object{{"get", append(get, entry{"responses", d.withErrors(object{{"200", d.answer("The object.", jsonType, ref(r.Record), v)}}, readErrors)})}}
	if !d.ReadOnly {
		item = append(item, d.writes(r, "", nil, v, nil)...)
	}
	d.paths = append(d.paths, entry{"/" + url.PathEscape(r.Name), item})
}

// operation begins an operation on a resource.
func (d *apiDocument) operation(r pickup.Resource, id, summary, description string, parameters list) object {
	op := object{{"operationId", d.operationID(id)}, {"tags", list{r.Name}}, {"summary", summary}}
	return op.with("description", description).with("parameters", parameters)
}

// readParameters returns the parameters of a list, or of a single record.
func (d *apiDocument) readParameters(r pickup.Resource, lists bool) list {
	var parameters list
	if lists {
		for _, name := range r.Members {
			parameters = append(parameters, object{{"name", name}, {"in", "query"}, {"schema", ref("Filter")}})
		}
	}
	for _, p := range apiParameters {
		if (lists && p.lists || !lists && p.records) && !slices.Contains(r.Members, p.name) {
			parameters = append(parameters, p.object())
		}
	}
	return parameters
}

// create describes a POST of what the schema called name describes.
func (d *apiDocument) create(r pickup.Resource, id, summary, description, name string, example, body jsontext.Value) object {
	schema := ref(name)
	op := d.operation(r, id, summary, description, nil)
	op = append(op, entry{"requestBody", requestBody(list{schema, arrayOf(schema)}, body)})
	created := d.answer("What was created, in the shape of the body.", jsonType, object{{"oneOf", list{ref(r.Answer), arrayOf(ref(r.Answer))}}}, example)
	created[1].value = append(append(object{}, answerHeaders...), header("Location", "Where the record is, if it is one."))
	return append(op, entry{"responses", d.withErrors(object{{"201", created}}, writeErrors)})
}

// changes describes PUT, PATCH and DELETE of a record. suffix tells the
// operations apart from those of another path.
func (d *apiDocument) changes(r pickup.Resource, suffix string, parameters list, example, body jsontext.Value) object {
	ops := d.writes(r, suffix, parameters, example, body)
	op := d.operation(r, "delete"+r.Record+suffix, "Delete a record.", "The answer is what was deleted.", parameters)
	responses := object{{"200", d.answer("The record that was deleted.", jsonType, ref(r.Record), example)}}
	return append(ops, entry{"delete", append(op, entry{"responses", d.withErrors(responses, writeErrors)})})
}

// writes describes PUT and PATCH.
func (d *apiDocument) writes(r pickup.Resource, suffix string, parameters list, example, body jsontext.Value) object {
	var ops object
	for _, w := range []struct{ method, id, summary, description, schema string }{
		{"put", "replace", "Replace as a whole.", "The id and the place in the file stay.", r.Replace},
		{"patch", "update", "Change single members.", "The members that are sent replace the stored ones; the others are kept. Only what is sent is judged.", r.Merge},
	} {
		op := d.operation(r, w.id+r.Record+suffix, w.summary, w.description, parameters)
		one := object{{"type", "array"}, {"minItems", 1}, {"maxItems", 1}, {"items", ref(w.schema)}}
		op = append(op, entry{"requestBody", requestBody(list{ref(w.schema), one}, body)})
		responses := object{{"200", d.answer("What is stored now, in the shape of the body.", jsonType,
			object{{"oneOf", list{ref(r.Answer), arrayOf(ref(r.Answer))}}}, example)}}
		ops = append(ops, entry{w.method, append(op, entry{"responses", d.withErrors(responses, writeErrors)})})
	}
	return ops
}

func requestBody(oneOf list, example jsontext.Value) object {
	content := object{{"schema", object{{"oneOf", oneOf}}}}
	if example != nil {
		content = append(content, entry{"example", example})
	}
	return object{{"required", true}, {"content", object{{jsonType, content}}}}
}

func arrayOf(schema any) object { return object{{"type", "array"}, {"items", schema}} }

func arrayExample(v jsontext.Value) jsontext.Value {
	if v == nil {
		return nil
	}
	return append(append(jsontext.Value("["), v...), ']')
}

// examples returns a record of the collection, and the same as a body: the
// first that keeps the rules, so that nobody copies what would be refused.
func (d *apiDocument) examples(r pickup.Resource) (record, body jsontext.Value) {
	n := 0
	for e := range d.snap.All(r.Name) {
		if n++; n > 100 {
			break
		}
		if pickup.IsPositionKey(e.ID) || len(e.Value) > 4<<10 || d.snap.Schema().Faults(r.Name, e.Value) != nil {
			continue
		}
		body = jsontext.Value("{")
		for name, v := range members(e.Value) {
			if name != r.IDMember {
				body = appendMember(body, name, v)
			}
		}
		return e.Value, append(body, '}')
	}
	return nil, nil
}

// plural returns the name of a collection for an operationId.
func plural(r pickup.Resource) string {
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
