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

// resourceTemplate has the paths and components of a resource, by kind. Names in angle
// brackets are replaced. Each operation gets errors and a tag.
//
//go:embed resource.json
var resourceTemplate []byte

// resource adds the paths and components of a resource.
func (d *apiDocument) resource(r describe.Resource) {
	kind, answer := "object", "The object."
	if r.Kind == storage.Array {
		kind, answer = "collection", "The record."
	}
	var fields []byte // the parameters to filter by
	for _, name := range r.Members {
		if !slices.Contains(query.Functions, name) { // else it means that
			fields = append(appendDocument(fields, object{{"name", name}, {"in", "query"}, {"schema", ref("Filter")}}), ',')
		}
	}
	stored, body := d.examples(r)
	var replacements []string
	if stored != nil {
		replacements = append(replacements, `["<stored>"]`, string(d.Answers.Wrap(slices.Concat([]byte("["), stored, []byte("]")), 1)))
		stored, body = d.Answers.Wrap(slices.Clip(stored), 0), d.Answers.Wrap(slices.Clip(body), 0)
	}
	replacements = slices.Concat(replacements, example("<stored>", stored), example("<body>", body))
	if slices.Contains(r.Members, "filters") {
		replacements = append(replacements, `{"$ref":"#/components/parameters/filters"},`, "")
	}
	replacements = append(replacements, `"<fields>",`, string(fields), "<name>", quoted(r.Name), "<path>", url.PathEscape(r.Name), "<answer>", answer,
		"<record>", r.Record, "<plural>", cmp.Or(describe.Identifier(r.Name), r.Record+"s"), "<create>", r.Create, "<replace>", r.Replace, "<patch>", r.MergePatch)
	fill := func(kind string, more ...string) jsontext.Value {
		text := rawjson.Compact(member(resourceTemplate, kind))
		return jsontext.Value(strings.NewReplacer(append(more, replacements...)...).Replace(d.inForm(string(text))))
	}
	for _, kind := range []string{"responses", "requestBodies"} {
		for quoted, v := range rawjson.Members(fill(kind)) {
			name := rawjson.Unquote(quoted)
			if !slices.ContainsFunc(d.shared[kind], func(e entry) bool { return e.name == name }) {
				d.shared[kind] = append(d.shared[kind], entry{name, v})
			}
		}
	}
	creates := r.Kind == storage.Array && !d.snap.Schema().Member(r.Name).ReadOnlyID()
	d.addPaths(fill(kind), r.Name, creates)
	for _, parent := range r.Parents {
		if HasPath(parent.Collection) {
			d.addPaths(fill("children", "<of>", "Of"+capital(spell.Singular(parent.Collection)), "<parent>", quoted(parent.Collection),
				"<parent path>", url.PathEscape(parent.Collection), "<reference>", quoted(parent.Member)), r.Name, creates)
		}
	}
}

// inForm returns a part of the template with the schemas of lists and records in their form.
func (d *apiDocument) inForm(template string) string {
	if d.Answers == nil {
		return template
	}
	var pairs []string
	for _, name := range []string{"<record>", "<create>", "<replace>", "<patch>"} {
		one := string(appendDocument(nil, ref(name)))
		many := `{"type":"array","items":` + one + "}"
		pairs = append(pairs, `"schema":`+many, `"schema":`+d.Answers.Schema("[]", many), `"schema":`+one, `"schema":`+d.Answers.Schema("{}", one))
	}
	return strings.NewReplacer(pairs...).Replace(template)
}

// quoted returns a text as a part of a JSON string.
func quoted(s string) string { return strings.Trim(string(rawjson.AppendQuote(nil, s)), `"`) }

// example returns what to replace by an example, which may be nil.
func example(name string, v jsontext.Value) []string {
	if v == nil {
		return []string{`,"example":"` + name + `"`, "", `,"example":["` + name + `"]`, ""}
	}
	return []string{`"example":"` + name + `"`, `"example":` + string(v)}
}

// addPaths adds paths with the operations that are possible. PUT creates a record or does not.
func (d *apiDocument) addPaths(paths jsontext.Value, tag string, creates bool) {
	const create = "put or create"
	for name, operations := range rawjson.Members(paths) {
		path := rawjson.Unquote(name)
		if ofServer := strings.HasPrefix(path, "/_/sessions") || slices.Contains(serverPaths, path); ofServer && d.SessionPath != "" {
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

// operation completes an operation: its id is unique, and it has errors and a tag.
func (d *apiDocument) operation(op jsontext.Value, tag string) jsontext.Value {
	id := stringOf(member(op, "operationId"))
	for d.ids[id] {
		id += "_"
	}
	d.ids[id] = true
	errors := jsontext.Value(`{"4XX":{"$ref":"#/components/responses/Error"},"5XX":{"$ref":"#/components/responses/Error"}}`)
	responses := rawjson.MergeMembers(member(op, "responses"), errors)
	more := appendDocument(nil, object{{"operationId", id}, {"tags", list{tag}}, {"responses", responses}})
	return rawjson.MergeMembers(op, more)
}

// examples returns the object, or the first record and the same as a body without the
// id, if it conforms to the rules.
func (d *apiDocument) examples(r describe.Resource) (record, body jsontext.Value) {
	if r.Kind != storage.Array {
		v, err := d.snap.Value(r.Name)
		if err != nil || d.snap.Schema().Member(r.Name).Check(v, v, nil) != nil {
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
		if storage.IsPositionKey(e.ID) || len(e.Value) > 4<<10 || d.snap.Schema().Member(r.Name).Check(e.Value, e.Value, nil) != nil {
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

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
