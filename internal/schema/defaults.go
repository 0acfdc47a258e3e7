package schema

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/rawjson"
)

// WithDefaults returns a new record, compact and free of aliases, with the fields
// that it lacks and that have a default, at every depth. Objects that are missing are
// not made for the defaults of their fields, and defaults in branches such as anyOf
// do not count. The id and times (x-now) get no default: the service has values.
func (r *Rules) WithDefaults(value jsontext.Value) jsontext.Value {
	f := newFiller(r.record)
	f.open()
	f.names = slices.DeleteFunc(f.names, func(name string) bool { return name == r.idMember() || r.isStamp(name) })
	return f.appendFilled(make([]byte, 0, len(value)), value)
}

// A filler fills in the defaults of values that the same schemas describe. Schemas may
// be recursive, so fillers are made as deep as the values are.
type filler struct {
	parts   []*jsonschema.Schema
	members map[string]*filler // nil before open, as are the following
	names   []string           // of the fields that have a default, sorted
	items   *filler
}

func newFiller(schemas []*jsonschema.Schema) *filler {
	return &filler{parts: gather(schemas, false)}
}

// open makes the fillers of fields and elements.
func (f *filler) open() {
	if f.members != nil {
		return
	}
	var items []*jsonschema.Schema
	members := make(map[string][]*jsonschema.Schema)
	for _, part := range f.parts {
		items = append(items, itemsOf(part)...)
		for name, sch := range part.Properties {
			members[name] = append(members[name], sch)
		}
	}
	f.items, f.members = newFiller(items), make(map[string]*filler)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		f.members[name] = newFiller(members[name])
		if f.members[name].value() != nil {
			f.names = append(f.names, name)
		}
	}
}

// value returns the default of the value itself, nil if there is none.
func (f *filler) value() *any {
	for _, part := range f.parts {
		if part.Default != nil {
			return part.Default
		}
	}
	return nil
}

// appendFilled appends a value with the defaults that it lacks.
func (f *filler) appendFilled(out []byte, value jsontext.Value) []byte {
	if f == nil || len(f.parts) == 0 {
		return append(out, value...)
	}
	switch value.Kind() {
	case '[':
		f.open()
		out = append(out, '[')
		for e := range rawjson.Elements(value) {
			out = f.items.appendFilled(rawjson.AppendComma(out), e)
		}
		return append(out, ']')
	case '{':
		f.open()
		var has map[string]bool
		if len(f.names) > 0 {
			has = make(map[string]bool)
		}
		out = append(out, '{')
		for quoted, e := range rawjson.Members(value) {
			name := rawjson.Unquote(quoted)
			if has != nil {
				has[name] = true
			}
			out = f.members[name].appendFilled(rawjson.AppendQuotedMember(out, quoted, nil), e)
		}
		for _, name := range f.names {
			if !has[name] {
				out = rawjson.AppendMember(out, name, []byte(encode(*f.members[name].value())))
			}
		}
		return append(out, '}')
	}
	return append(out, value...)
}
