package describe

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A form is how the schema of a body differs from the schema of a record.
type form struct {
	sent     bool     // leaves out historic values of the fields themselves
	optional []string // fields that are not required
	required []string // fields that are required in addition
	without  []string // fields to leave out
}

// body defines the schema of a body in that form and returns its name.
func (d *describer) body(r *record, suffix string, f form) string {
	name := d.name(r.Record + suffix)
	d.define(name, d.reform(r, f))
	return name
}

// reform returns the schema of a record in that form.
func (d *describer) reform(r *record, f form) []byte {
	f.required = slices.DeleteFunc(slices.Clone(f.required), func(name string) bool { return slices.Contains(f.optional, name) })
	w := &reformer{describer: d, form: f}
	var all [][]byte
	for i, pointer := range r.at {
		if i > 0 {
			w.form.required = nil
		}
		all = append(all, w.schema(rawjson.At(d.rules, pointer), nil))
	}
	return allOf(all)
}

// A reformer copies the schema of a record into a form.
type reformer struct {
	*describer
	form
}

// schema returns the schema v in the form. References are replaced by what
// they refer to, because that may require fields too; seen are the pointers
// that led here.
func (w *reformer) schema(v jsontext.Value, seen []string) []byte {
	if v.Kind() != '{' {
		return w.copy(v, w.sent)
	}
	out := []byte("{")
	var inlined [][]byte
	required := w.required
	w.required = nil // once is enough
	for quoted, e := range rawjson.Members(v) {
		switch keyword := rawjson.Unquote(quoted); keyword {
		case "$ref", "$dynamicRef":
			if pointer, ok := w.target(e); ok && !slices.Contains(seen, pointer) {
				inlined = append(inlined, w.schema(rawjson.At(w.rules, pointer), append(seen, pointer)))
				continue
			}
			out = w.appendKeyword(out, keyword, e, w.sent)
		case "allOf", "anyOf", "oneOf":
			var branches [][]byte
			for branch := range rawjson.Elements(e) {
				branches = append(branches, w.schema(branch, seen))
			}
			out = rawjson.AppendMember(out, keyword, array(branches...))
		case "then", "else":
			out = rawjson.AppendMember(out, keyword, w.schema(e, seen))
		case "required":
			for name := range rawjson.Elements(e) {
				if s := rawjson.Unquote(name); !slices.Contains(w.optional, s) && !slices.Contains(required, s) {
					required = append(required, s)
				}
			}
		case "x-required-on-create", "x-id", "x-id-field": // about stored records
		case "properties":
			out = rawjson.AppendMember(out, keyword, w.members(e))
		default:
			out = w.appendKeyword(out, keyword, e, w.sent)
		}
	}
	if len(required) > 0 {
		out = rawjson.AppendMember(out, "required", array(quote(required)...))
	}
	out = append(out, '}')
	if len(out) > 2 || len(inlined) == 0 {
		inlined = append(inlined, out)
	}
	return allOf(inlined)
}

// fields returns the value of "properties" in the form.
func (w *reformer) members(v jsontext.Value) []byte {
	out := []byte("{")
	for quoted, e := range rawjson.Members(v) {
		name := rawjson.Unquote(quoted)
		if !slices.Contains(w.without, name) {
			out = rawjson.AppendMember(out, name, w.copy(e, w.sent))
		}
	}
	return append(out, '}')
}

// mergePatch returns the schema of a merge patch of a record: any of its
// fields, or null, which removes one. A field that may be an object has no
// rules, because a part of it is enough.
func (d *describer) mergePatch(r *record) []byte {
	var members []byte
	known := make(map[string]bool)
	for _, pointer := range r.at {
		d.properties(pointer, func(name string, v jsontext.Value) {
			if !known[name] {
				known[name] = true
				members = rawjson.AppendMember(members, name, d.nullable(v))
			}
		})
	}
	out := []byte(`{"description":"A JSON Merge Patch (RFC 7396): fields that are null are removed, objects are merged, ` +
		`anything else is replaced.","type":"object"`)
	if members != nil {
		out = rawjson.AppendMember(out, "properties", slices.Concat([]byte("{"), members, []byte("}")))
	}
	return append(out, '}')
}

// nullable returns the schema of a field of a merge patch.
func (d *describer) nullable(v jsontext.Value) []byte {
	target := v
	if ref, ok := rawjson.Member(v, "$ref"); ok && len(rawjson.MemberNames(v)) == 1 {
		if pointer, ok := d.target(ref); ok {
			target = rawjson.At(d.rules, d.follow(pointer))
		}
	}
	types, typed := rawjson.Member(target, "type")
	enum, listed := rawjson.Member(target, "enum")
	switch {
	case listed && bytes.IndexByte(enum, '{') < 0:
	case !typed || bytes.Contains(types, []byte(`"object"`)):
		return []byte("{}")
	case bytes.Contains(types, []byte(`"null"`)):
		return d.copy(v, true)
	}
	return slices.Concat([]byte(`{"anyOf":[`), d.copy(v, true), []byte(`,{"type":"null"}]}`))
}

// allOf returns the schema of what all the schemas describe.
func allOf(schemas [][]byte) []byte {
	if len(schemas) == 1 {
		return schemas[0]
	}
	return slices.Concat([]byte(`{"allOf":`), array(schemas...), []byte("}"))
}

// withRequired returns a schema that also requires a field.
func withRequired(schema jsontext.Value, name string) jsontext.Value {
	all := quote([]string{name})
	required, _ := rawjson.Member(schema, "required")
	for e := range rawjson.Elements(required) {
		all = append(all, e)
	}
	return rawjson.MergeMembers(schema, append(rawjson.AppendMember([]byte("{"), "required", array(all...)), '}'))
}

// array returns the JSON array of the elements.
func array(elements ...[]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(elements, []byte(",")), []byte("]"))
}

// quote returns each of the names as a JSON string.
func quote(names []string) [][]byte {
	quoted := make([][]byte, len(names))
	for i, name := range names {
		quoted[i] = rawjson.AppendQuote(nil, name)
	}
	return quoted
}
