package openapi

import (
	"cmp"
	_ "embed"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/describe"
	"pickup/internal/query"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// resourceTemplate has the paths and components of a resource, by kind, with placeholders in angle
// brackets. operation adds errors and a tag to each operation.
//
//go:embed resource.json
var resourceTemplate []byte

// resource adds the paths and components of a resource at a path. The replacements in more come
// before those of the template.
func (d *apiDocument) resource(r describe.Resource, path, tag string, more ...string) {
	kind, answer := "object", "The object."
	if r.Kind == storage.Array {
		kind, answer = "collection", "The record."
	}
	var fields []byte // the parameters to filter by
	for _, name := range r.Members {
		if !slices.Contains(query.Functions, name) { // the URL cannot filter by such a field
			filter := object{{"name", name}, {"in", "query"}, {"schema", ref("Filter")}}
			fields = append(appendDocument(fields, filter), ',')
		}
	}
	stored, body := d.examples(r)
	replacements := more
	if stored != nil {
		list := d.Answers.Wrap(slices.Concat([]byte("["), stored, []byte("]")), 1)
		replacements = append(replacements, `["<stored>"]`, string(list))
		stored = d.Answers.Wrap(slices.Clip(stored), 0)
		body = d.Answers.Wrap(slices.Clip(body), 0)
	}
	replacements = slices.Concat(replacements, example("<stored>", stored), example("<body>", body))
	if slices.Contains(r.Members, "filters") {
		replacements = append(replacements, `{"$ref":"#/components/parameters/filters"},`, "")
	}
	replacements = append(replacements,
		`"<fields>",`, string(fields),
		"<name>", quoted(r.Name),
		"<path>", path,
		"<answer>", answer,
		"<record>", r.Record,
		"<plural>", cmp.Or(describe.Identifier(r.Name), r.Record+"s"),
		"<create>", r.Create,
		"<replace>", r.Replace,
		"<patch>", r.MergePatch)
	fill := func(kind string, more ...string) jsontext.Value {
		text := rawjson.Compact(rawjson.Get(resourceTemplate, kind))
		return jsontext.Value(strings.NewReplacer(append(more, replacements...)...).Replace(d.inForm(string(text))))
	}
	for _, kind := range []string{"responses", "requestBodies"} {
		for name, v := range rawjson.Fields(fill(kind)) {
			if !slices.ContainsFunc(d.shared[kind], func(e entry) bool { return e.name == name }) {
				d.shared[kind] = append(d.shared[kind], entry{name, v})
			}
		}
	}
	creates := r.Kind == storage.Array && !d.snap.Schema().Member(r.Name).ReadOnlyID()
	d.addPaths(fill(kind), tag, creates)
	for _, parent := range r.Parents {
		if !HasPath(parent.Collection) {
			continue
		}
		singular := spell.Singular(parent.Collection)
		paths := fill("children",
			"<of>", "Of"+strings.ToUpper(singular[:1])+singular[1:],
			"<parent>", quoted(parent.Collection),
			"<parent path>", url.PathEscape(parent.Collection),
			"<reference>", quoted(parent.Member))
		d.addPaths(paths, r.Name, creates)
	}
}

// inForm returns a part of the template with lists and records in the form of Options.Answers.
func (d *apiDocument) inForm(template string) string {
	if d.Answers == nil {
		return template
	}
	var pairs []string
	for _, name := range []string{"<record>", "<create>", "<replace>", "<patch>"} {
		one := string(appendDocument(nil, ref(name)))
		many := `{"type":"array","items":` + one + "}"
		pairs = append(pairs,
			`"schema":`+many, `"schema":`+d.Answers.Schema("[]", many),
			`"schema":`+one, `"schema":`+d.Answers.Schema("{}", one))
	}
	return strings.NewReplacer(pairs...).Replace(template)
}

// quoted returns a text as a part of a JSON string.
func quoted(s string) string {
	return strings.Trim(rawjson.Quote(s), `"`)
}

// example returns replacements of a placeholder by an example. nil removes the placeholder.
func example(name string, v jsontext.Value) []string {
	if v == nil {
		return []string{`,"example":"` + name + `"`, "", `,"example":["` + name + `"]`, ""}
	}
	return []string{`"example":"` + name + `"`, `"example":` + string(v)}
}

// addPaths adds paths with the allowed operations. creates reports whether PUT may create a record.
func (d *apiDocument) addPaths(paths jsontext.Value, tag string, creates bool) {
	const create = "put or create"
	for name, operations := range rawjson.Members(paths) {
		path := rawjson.Unquote(name)
		if d.SessionPath != "" && IsOutside(path) {
			continue
		}
		item, parameters := object{}, object{}
		for name, op := range rawjson.Members(operations) {
			switch method := rawjson.Unquote(name); {
			case method == "parameters":
				parameters = object{{method, op}}
			case d.ReadOnly && method != "get", method == "put" && creates, method == create && !creates:
			default:
				item = append(item, entry{strings.TrimSuffix(method, " or create"), d.operation(op, tag)})
			}
		}
		if len(item) == 0 {
			continue
		}
		if d.Prefix != "" && strings.HasPrefix(path+"/", "/_/") {
			item = append(item, entry{"servers", servers(d.SessionPath)})
		}
		d.paths = append(d.paths, entry{path, append(parameters, item...)})
	}
}

// operation completes an operation: with a unique id, errors and a tag.
func (d *apiDocument) operation(op jsontext.Value, tag string) jsontext.Value {
	id := rawjson.String(rawjson.Get(op, "operationId"))
	for d.ids[id] {
		id += "_"
	}
	d.ids[id] = true
	const fault = `{"$ref":"#/components/responses/Error"}`
	errors := jsontext.Value(`{"4XX":` + fault + `,"5XX":` + fault + "}")
	responses := rawjson.MergeMembers(rawjson.Get(op, "responses"), errors)
	more := appendDocument(nil, object{{"operationId", id}, {"tags", list{tag}}, {"responses", responses}})
	return rawjson.MergeMembers(op, more)
}

// examples returns the object, or one of the first records and the record as a body without the id.
// It returns nil if the value violates the rules.
func (d *apiDocument) examples(r describe.Resource) (record, body jsontext.Value) {
	rules := d.snap.Schema().Member(r.Name)
	if r.Kind != storage.Array {
		v, err := d.snap.Value(r.Name)
		if err != nil || rules.Check(v, v, nil) != nil {
			return nil, nil
		}
		return v, nil
	}
	n := 0
	for e := range d.snap.All(r.Name) {
		n++
		if n > 100 {
			break
		}
		if storage.IsPositionKey(e.ID) || len(e.Value) > 4<<10 || rules.Check(e.Value, e.Value, nil) != nil {
			continue
		}
		body = jsontext.Value("{")
		for name, v := range rawjson.Fields(e.Value) {
			if name != r.IDMember && !rules.Owns(name) {
				body = rawjson.AppendMember(body, name, v)
			}
		}
		return e.Value, append(body, '}')
	}
	return nil, nil
}
