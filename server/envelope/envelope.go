// Package envelope puts lists and records into the form in which an API has them, as in
// {"data": [], "meta": {"total": 7}}, and takes bodies out of it.
package envelope

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/server/internal/httpx"
)

// A Form names the fields of an answer. The nil Form is the plain one. Names need no
// escapes in JSON.
type Form struct {
	List   string // has a list; "": a list is an array
	Total  string // the path to the number of all records, as in meta.total; "": none
	Record string // has a record; "": a record is the answer
}

// Wrap returns the answer for v, an array or an object, in whose memory it may be. An
// array is a part of a list of total records.
func (f *Form) Wrap(v []byte, total int) []byte {
	if f == nil || len(v) == 0 {
		return v
	}
	name, more := f.Record, ""
	if v[0] == '[' {
		name = f.List
	}
	if name == "" {
		return v
	}
	if v[0] == '[' && f.Total != "" {
		path := strings.Split(f.Total, ".")
		more = `,"` + strings.Join(path, `":{"`) + `":` + strconv.Itoa(total) + strings.Repeat("}", len(path)-1)
	}
	return append(slices.Insert(v, 0, []byte(`{"`+name+`":`)...), more+"}"...)
}

// Unwrap returns what is in the envelope of a body, and the pointer to it. It returns nil if
// the body has another field or none: it is plain.
func (f *Form) Unwrap(body jsontext.Value) (v jsontext.Value, pointer string) {
	names := rawjson.MemberNames(body)
	if f == nil || len(names) != 1 {
		return nil, ""
	}
	v, _ = rawjson.Member(body, names[0])
	if kind := v.Kind(); kind == '[' && names[0] == f.List || kind == '{' && names[0] == f.Record {
		return v, rawjson.Pointer(names[0])
	}
	return nil, ""
}

// Tag returns the entity tag of an answer in the form from its plain one: its bytes are
// other bytes, as a compressed answer has.
func (f *Form) Tag(plain string) string {
	if f == nil || plain == "" {
		return plain
	}
	ending := httpx.Tag([]byte(f.List + " " + f.Total + " " + f.Record))[1:7]
	return strings.TrimSuffix(plain, `"`) + "-" + ending + `"`
}

// Schema returns the JSON Schema, in the form, of v, which is [] or {}, with this schema.
func (f *Form) Schema(v, schema string) string { return schemaOf(f.Wrap([]byte(v), 0), schema) }

func schemaOf(form jsontext.Value, schema string) string {
	names := rawjson.MemberNames(form)
	switch {
	case form.Kind() == '0':
		return `{"type":"integer"}`
	case len(names) == 0:
		return schema
	}
	properties := []byte("{")
	for quoted, v := range rawjson.Members(form) {
		properties = rawjson.AppendQuotedMember(properties, quoted, []byte(schemaOf(v, schema)))
	}
	return `{"type":"object","required":["` + strings.Join(names, `","`) + `"],"properties":` + string(properties) + "}}"
}
