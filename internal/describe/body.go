package describe

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A form is how the schema of a body differs from the schema of a record.
type form struct {
	about    string   // description; "": the description of the record
	patch    bool     // no field is required, and any may be null
	optional []string // fields that a body may lack
	required []string // fields required in addition
	without  []string // fields to leave out
}

// body defines the schema of a body in that form and returns the name. The schema has the fields of
// a record, without historic values. It lacks other keywords of the rules, such as anyOf.
func (d *describer) body(r *record, suffix string, f form) string {
	name := d.name(r.Record + suffix)
	var closed []byte
	members := []byte("{")
	known := make(map[string]bool)
	needed := slices.Clone(f.required)
	for _, part := range d.parts(r) {
		for member, v := range rawjson.Fields(rawjson.Get(part, "properties")) {
			if known[member] || slices.Contains(f.without, member) {
				continue
			}
			known[member] = true
			if f.patch {
				members = rawjson.AppendMember(members, member, d.nullable(v))
			} else {
				members = rawjson.AppendMember(members, member, d.copy(v, true))
			}
		}
		for _, member := range required(part) {
			if !slices.Contains(needed, member) {
				needed = append(needed, member)
			}
		}
		if about, ok := rawjson.Member(part, "description"); ok && f.about == "" {
			f.about = rawjson.Unquote(about)
		}
		if v, ok := rawjson.Member(part, "additionalProperties"); ok && !f.patch {
			closed = d.copy(v, true)
		}
	}
	out := []byte(`{"type":"object"`)
	if f.about != "" {
		out = rawjson.AppendText(out, "description", f.about)
	}
	if len(members) > 1 {
		out = rawjson.AppendMember(out, "properties", append(members, '}'))
	}
	needed = slices.DeleteFunc(needed, func(name string) bool { return slices.Contains(f.optional, name) })
	if len(needed) > 0 && !f.patch {
		out = rawjson.AppendMember(out, "required", array(quote(needed)...))
	}
	if closed != nil {
		out = rawjson.AppendMember(out, "additionalProperties", closed)
	}
	d.define(name, append(out, '}'))
	return name
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

// withRequired returns a schema that also requires a field.
func withRequired(schema jsontext.Value, name string) jsontext.Value {
	all := append([]string{name}, required(schema)...)
	return rawjson.MergeMembers(schema,
		append(rawjson.AppendMember([]byte("{"), "required", array(quote(all)...)), '}'))
}

// required returns the names of the fields that a schema requires.
func required(schema jsontext.Value) (all []string) {
	for e := range rawjson.Elements(rawjson.Get(schema, "required")) {
		all = append(all, rawjson.Unquote(e))
	}
	return all
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
