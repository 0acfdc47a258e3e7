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
	example, body := d.examples(r)
	var examples jsontext.Value
	if example != nil {
		examples = slices.Concat(jsontext.Value("["), example, jsontext.Value("]"))
	}
	x := exchange{
		record: d.share("responses", r.Record+"Answer", answer("The record.", nil, media(JSONType, ref(r.Record), example))),
		list: d.share("responses", r.Record+"List", answer("The records, in the order of the file or of _sort.", listHeaders,
			media(JSONType, arrayOf(ref(r.Record)), examples))),
		created: d.share("responses", r.Record+"Created", answer("The record that was created.", createdHeaders, media(JSONType, ref(r.Record), example))),
		create:  d.share("requestBodies", r.Create, requestBody(media(JSONType, ref(r.Create), body))),
		example: body,
	}
	d.path(path, d.parametersOf(ofData), object{
		d.list(r, x, "", "All, or those that match the filters."),
		d.create(r, x, "", "Create a record.", "A record without an id gets one.", x.create),
	})
	item := object{d.read(r, x, "Read one record.", "As it is stored.")}
	item = append(item, d.writes(r, x)...)
	item = append(item, entry{"delete", d.operation(r, "delete"+r.Record, "Delete a record.",
		"The answer is the deleted record.",
		d.parametersOf(ofDeletes), nil, answers(entry{"200", x.record}, noContent))})
	d.path(path+"/{id}", d.parametersOf("id", ofData), item)

	for _, parent := range r.Parents {
		if HasPath(parent.Collection) {
			d.children(r, x, parent)
		}
	}
}

// An exchange has the components that the operations of a resource share.
type exchange struct {
	record, list, created object // answers
	create                object // a body
	example               jsontext.Value
}

// share adds a component of a kind and returns a reference to it.
func (d *apiDocument) share(kind, name string, value object) object {
	for slices.ContainsFunc(d.shared[kind], func(e entry) bool { return e.name == name }) {
		name += "_"
	}
	d.shared[kind] = append(d.shared[kind], entry{name, value})
	return object{{"$ref", "#/components/" + kind + "/" + name}}
}

// children adds /drivers/{id}/schedules.
func (d *apiDocument) children(r describe.Resource, x exchange, parent describe.Parent) {
	one := database.Singular(parent.Collection)
	of := "Of" + capital(one)
	body := x.create
	if r.MergePatch != r.Create {
		body = requestBody(media(JSONType, ref(r.MergePatch), x.example))
	}
	d.path("/"+url.PathEscape(parent.Collection)+"/{id}/"+url.PathEscape(r.Name), d.parametersOf("id", ofData), object{
		d.list(r, x, of, "The records whose "+parent.Member+" is the id of one of "+parent.Collection+"."),
		d.create(r, x, of, "Create a record that refers to this one.", "The body may omit "+parent.Member+", which is filled in.", body),
	})
}

// singular adds a singular resource.
func (d *apiDocument) singular(r describe.Resource) {
	example, err := d.snap.Value(r.Name)
	if err != nil || d.snap.Schema().Member(r.Name).Faults(example) != nil {
		example = nil // it must conform to the rules
	}
	x := exchange{record: d.share("responses", r.Record+"Answer", answer("The object.", nil, media(JSONType, ref(r.Record), example)))}
	d.path("/"+url.PathEscape(r.Name), d.parametersOf(ofData), append(object{d.read(r, x, "Read "+r.Name+".", "As it is stored.")}, d.writes(r, x)...))
}

// path adds a path with its parameters and operations.
func (d *apiDocument) path(path string, parameters list, item object) {
	if d.ReadOnly {
		item = slices.DeleteFunc(item, func(e entry) bool { return e.name != "get" && e.name != "parameters" })
	}
	ofSession := strings.HasPrefix(path, SessionsPath) || slices.Contains(serverPaths, path)
	if len(item) == 0 || item[len(item)-1].name == "parameters" || ofSession && d.SessionPath != "" {
		return
	}
	if d.Prefix != "" && strings.HasPrefix(path+"/", PagePath+"/") {
		item = append(item, entry{"servers", servers(d.SessionPath)})
	}
	d.paths = append(d.paths, entry{path, append(object{}.with("parameters", parameters), item...)})
}

// errorResponses are responses of all operations.
var errorResponses = object{{"4XX", response("Error")}, {"5XX", response("Error")}}

// id returns an operationId that is not in use.
func (d *apiDocument) id(id string) string {
	for d.ids[id] {
		id += "_"
	}
	d.ids[id] = true
	return id
}

// operation returns an operation on a resource.
func (d *apiDocument) operation(r describe.Resource, id, summary, description string, parameters list, body, responses object) object {
	op := object{{"operationId", d.id(id)}, {"tags", list{r.Name}}, {"summary", summary}, {"description", description}}
	return op.with("parameters", parameters).with("requestBody", body).with("responses", append(responses, errorResponses...))
}

// list returns GET of a list. The suffix of makes its operationId unique.
func (d *apiDocument) list(r describe.Resource, x exchange, of, description string) entry {
	return entry{"get", d.operation(r, "list"+plural(r)+of, "List "+r.Name+".", description, d.listParameters(r), nil, answers(entry{"200", x.list}, notModified))}
}

// read returns GET of a record or an object.
func (d *apiDocument) read(r describe.Resource, x exchange, summary, details string) entry {
	return entry{"get", d.operation(r, "get"+r.Record, summary, details, d.parametersOf(ofRecords), nil, answers(entry{"200", x.record}, notModified))}
}

// create returns a POST.
func (d *apiDocument) create(r describe.Resource, x exchange, of, summary, description string, body object) entry {
	return entry{"post", d.operation(r, "create"+r.Record+of, summary, description, d.parametersOf("If-Match"), body, answers(entry{"201", x.created}))}
}

// writes returns PUT and PATCH.
func (d *apiDocument) writes(r describe.Resource, x exchange) object {
	changed := []entry{{"200", x.record}, noContent}
	replaced := changed
	summary, description := "Replace as a whole.", "The id and the position in the file are kept."
	if r.Kind == storage.Array && !d.snap.Schema().Member(r.Name).ReadOnlyID() {
		summary, description = "Replace as a whole, or create.", description+" With If-None-Match: * it creates a record with that id."
		replaced = []entry{{"200", x.record}, {"201", x.created}, noContent}
	}
	body := x.create
	if r.Replace != r.Create {
		body = requestBody(media(JSONType, ref(r.Replace), x.example))
	}
	patch := ref(r.MergePatch)
	return object{
		{"put", d.operation(r, "replace"+r.Record, summary, description, d.parametersOf("If-Match"), body, answers(replaced...))},
		{"patch", d.operation(r, "update"+r.Record, "Change single members.",
			"As application/json the fields of the body replace the stored ones.",
			d.parametersOf("If-Match"), requestBody(media(JSONType, patch, x.example), media(MergeType, patch, nil), media(PatchType, ref("JSONPatch"), nil)),
			answers(changed...))},
	}
}

// answer returns a response with a body of one of the media types.
func answer(description string, headers []string, content ...entry) object {
	return object{{"description", description}}.with("headers", headersOf(headers...)).with("content", object(content))
}

// media returns what a body of a media type is.
func media(mediaType string, schema any, example jsontext.Value) entry {
	content := object{{"schema", schema}}
	if example != nil {
		content = append(content, entry{"example", example})
	}
	return entry{mediaType, content}
}

var (
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
