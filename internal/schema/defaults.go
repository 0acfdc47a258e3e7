package schema

import (
	"bytes"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/rawjson"
)

// WithDefaults returns a new record, compact and free of aliases, with the members
// that it lacks and that have a default, at every depth. Objects that are missing are
// not made for the defaults of their members, and defaults in branches such as anyOf
// do not count. The id and times (x-now) get no default: the service has values.
func (r *Rules) WithDefaults(value jsontext.Value) jsontext.Value {
	return fill(value, r.record, func(name string) bool {
		return name == r.idMember() || r.isStamp(name)
	})
}

// fill returns a value with the defaults of the schemas that describe it. No member
// gets one for which made reports true.
func fill(value jsontext.Value, schemas []*jsonschema.Schema, made func(name string) bool) jsontext.Value {
	var items []*jsonschema.Schema
	members := make(map[string][]*jsonschema.Schema)
	for _, part := range gather(schemas, false) {
		items = append(items, itemsOf(part)...)
		for name, sch := range part.Properties {
			members[name] = append(members[name], sch)
		}
	}
	never := func(string) bool { return false }
	switch value.Kind() {
	case '[':
		var elements [][]byte
		for e := range rawjson.Elements(value) {
			elements = append(elements, fill(e, items, never))
		}
		return slices.Concat([]byte("["), bytes.Join(elements, []byte(",")), []byte("]"))
	case '{':
		out := []byte("{")
		for quoted, e := range rawjson.Members(value) {
			name := rawjson.Unquote(quoted)
			out = rawjson.AppendQuotedMember(out, quoted, fill(e, members[name], never))
			delete(members, name)
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			parts := gather(members[name], false)
			i := slices.IndexFunc(parts, func(part *jsonschema.Schema) bool { return part.Default != nil })
			if i >= 0 && !made(name) {
				out = rawjson.AppendMember(out, name, []byte(encode(*parts[i].Default)))
			}
		}
		return append(out, '}')
	}
	return value
}
