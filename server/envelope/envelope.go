// Package envelope wraps lists and records for APIs that answer in an envelope, as in
// {"data": [], "meta": {"total": 7}}, and unwraps the bodies of requests.
package envelope

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/server/internal/httpx"
)

// A Form names the fields of an envelope. The nil Form has no envelope. Names must need no
// escapes in JSON.
type Form struct {
	List   string `json:"list,omitempty"`   // field of a list; "": a list is an array
	Total  string `json:"total,omitempty"`  // path of the number of all records, as in meta.total; "": none
	Record string `json:"record,omitempty"` // field of a record; "": a record is the response
}

// Wrap puts v, an array or an object, into the envelope. It may reuse the memory of v. An
// array is a part of a list of total records.
func (f *Form) Wrap(v []byte, total int) []byte {
	if f == nil || len(v) == 0 {
		return v
	}
	name, end := f.Record, "}"
	if v[0] == '[' {
		name = f.List
		if f.Total != "" {
			path := strings.Split(f.Total, ".")
			end = `,"` + strings.Join(path, `":{"`) + `":` + strconv.Itoa(total) + strings.Repeat("}", len(path))
		}
	}
	if name == "" {
		return v
	}
	return append(slices.Insert(v, 0, []byte(`{"`+name+`":`)...), end...)
}

// Unwrap returns the value in the envelope of a body, and a pointer to the value. It returns
// nil for a body without envelope, which has no field, another field or several fields.
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

// Tag returns the entity tag of a response in the envelope. plain is the tag of the same
// response without envelope. The tags differ because the bytes differ.
func (f *Form) Tag(plain string) string {
	if f == nil || plain == "" {
		return plain
	}
	ending := httpx.Tag([]byte(f.List + " " + f.Total + " " + f.Record))[1:7]
	return strings.TrimSuffix(plain, `"`) + "-" + ending + `"`
}

// Schema returns the JSON Schema of a value in the envelope. v is an empty value, [] or {}, and
// schema is the schema of the value.
func (f *Form) Schema(v, schema string) string { return schemaOf(f.Wrap([]byte(v), 0), schema) }

func schemaOf(form jsontext.Value, schema string) string {
	if form.Kind() == '0' {
		return `{"type":"integer"}`
	}
	names := rawjson.MemberNames(form)
	if len(names) == 0 {
		return schema
	}
	properties := []byte("{")
	for quoted, v := range rawjson.Members(form) {
		properties = rawjson.AppendQuotedMember(properties, quoted, []byte(schemaOf(v, schema)))
	}
	return `{"type":"object","required":["` + strings.Join(names, `","`) +
		`"],"properties":` + string(properties) + "}}"
}
