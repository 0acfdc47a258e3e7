package schema

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// WithDefaults returns a new record, compact and free of aliases, with the defaults of missing
// fields, at every depth. WithDefaults does not make missing objects, and ignores defaults in
// branches such as anyOf. The id and times (x-now) get no default, because the service sets
// these fields.
func (r *Rules) WithDefaults(value jsontext.Value) jsontext.Value {
	if r.certain == nil {
		return value
	}
	s := *r.certain
	s.defaults = slices.DeleteFunc(slices.Clone(s.defaults), func(name string) bool {
		return name == r.idMember() || r.isStamp(name)
	})
	return s.appendFilled(make([]byte, 0, len(value)), value)
}

// value returns the default of the value, or nil.
func (s *shape) value() *any {
	for _, part := range s.parts {
		if part.Default != nil {
			return part.Default
		}
	}
	return nil
}

// appendFilled appends a value with the defaults of missing fields.
func (s *shape) appendFilled(out []byte, value jsontext.Value) []byte {
	if s == nil {
		return append(out, value...)
	}
	switch value.Kind() {
	case '[':
		out = append(out, '[')
		for e := range rawjson.Elements(value) {
			out = s.items.appendFilled(rawjson.AppendComma(out), e)
		}
		return append(out, ']')
	case '{':
		has := make(map[string]bool)
		out = append(out, '{')
		for quoted, e := range rawjson.Members(value) {
			name := rawjson.Unquote(quoted)
			has[name] = true
			out = s.members[name].appendFilled(rawjson.AppendQuotedMember(out, quoted, nil), e)
		}
		for _, name := range s.defaults {
			if !has[name] {
				out = rawjson.AppendMember(out, name, []byte(encode(*s.members[name].value())))
			}
		}
		return append(out, '}')
	}
	return append(out, value...)
}
