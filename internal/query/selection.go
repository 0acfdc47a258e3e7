package query

import (
	"slices"
	"strconv"
	"strings"

	"pickup/internal/rawjson"
)

// Selection returns a query with only the filters and the sort keys of q, without pages, fields
// and embedded records. Queries with the same Selection have the same key. Selection reports
// false if a filter or a sort key looks into embedded records.
func (q *Query) Selection() (s *Query, key string, ok bool) {
	s = &Query{Collection: q.Collection, Sort: q.Sort, filter: q.filter}
	var b []byte
	for _, k := range q.Sort {
		if q.EmbedsAt(k.Path) {
			return nil, "", false
		}
		b = strconv.AppendBool(b, k.Descending)
		b = strconv.AppendQuote(b, rawjson.Pointer(k.Path...))
	}
	b, ok = q.appendFilter(append(b, ' '), &q.filter)
	return s, string(b), ok
}

// appendFilter appends a text that is the same for equal filters, whatever the order of the
// parts. It reports false if the filter looks into embedded records.
func (q *Query) appendFilter(b []byte, f *filter) (_ []byte, ok bool) {
	b = strconv.AppendBool(b, f.not)
	if t := f.term; t != nil {
		b = strconv.AppendInt(b, int64(t.op), 10)
		b = strconv.AppendQuote(b, rawjson.Pointer(t.path...))
		for _, v := range t.values {
			b = strconv.AppendQuote(b, string(v.text))
		}
		return b, !q.EmbedsAt(t.path)
	}
	parts := make([]string, len(f.parts))
	for i, part := range f.parts {
		text, ok := q.appendFilter(nil, part)
		if !ok {
			return nil, false
		}
		parts[i] = string(text)
	}
	slices.Sort(parts)
	b = append(strconv.AppendBool(b, f.any), '(')
	b = append(b, strings.Join(parts, "")...)
	return append(b, ')'), true
}
