package query

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// fields are the parts of a value that _fields selects.
type fields struct {
	whole   bool // whether the value is selected as a whole
	parts   map[string]*fields
	byIndex bool // whether a part is an element of an array
}

// add adds a path.
func (f *fields) add(p Path) {
	if len(p) == 0 {
		f.whole = true
		return
	}
	if f.parts == nil {
		f.parts = make(map[string]*fields)
	}
	f.byIndex = f.byIndex || rawjson.IsIndex(p[0])
	part := f.parts[p[0]]
	if part == nil {
		part = new(fields)
		f.parts[p[0]] = part
	}
	part.add(p[1:])
}

// append appends the selected parts of the value that starts at v[i], in the order of the text.
// It returns the end of the value, and reports whether the value can have parts. From an object
// it selects fields by name. From an array it selects elements by index or, if no index is
// selected, the parts of each element. It reads the text once.
func (f *fields) append(dst, v []byte, i int) (_ []byte, end int, ok bool) {
	if f.whole {
		end = rawjson.SkipValue(v, i)
		return append(dst, v[i:end]...), end, true
	}
	if v[i] != '{' && v[i] != '[' {
		return dst, rawjson.SkipValue(v, i), false
	}
	open, last := v[i], rawjson.Closing(v[i])
	dst = append(dst, open)
	n := 0
	for i = rawjson.SkipSpace(v, i+1); i < len(v) && v[i] != last; n++ {
		mark := len(dst)
		dst = rawjson.AppendComma(dst)
		part := f
		if open == '{' {
			end := rawjson.SkipString(v, i)
			quoted := v[i:end]
			i = rawjson.SkipSpace(v, rawjson.SkipSpace(v, end)+1)
			part = f.parts[string(rawjson.UnquoteBytes(quoted))]
			dst = append(append(dst, quoted...), ':')
		} else if f.byIndex {
			part = f.parts[strconv.Itoa(n)]
		}
		ok := false
		if part != nil {
			dst, i, ok = part.append(dst, v, i)
		} else {
			i = rawjson.SkipValue(v, i)
		}
		if !ok {
			dst = dst[:mark]
		}
		i = rawjson.SkipComma(v, i)
	}
	return append(dst, last), i + 1, true
}

// Projects reports whether q selects fields of each record.
func (q *Query) Projects() bool {
	return q.fields != nil
}

// AppendFields appends the parts of v that q selects.
func (q *Query) AppendFields(dst []byte, v jsontext.Value) []byte {
	dst, _, _ = q.fields.append(dst, v, 0)
	return dst
}
