package server

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/server/openapi"
)

// csvType is that of RFC 4180: records end in CRLF, the first one has the
// names.
const csvType = "text/csv; charset=utf-8; header=present"

// appendCSV appends records as a table with one column for each of their
// top-level members, in the order in which they first occur. Strings stand as
// they are, numbers and booleans as in JSON, objects and arrays as JSON; null
// and what a record does not have are empty. An element that is no object is in
// the table's first column.
//
// The table is for looking at in a spreadsheet, which takes a text that begins
// with =, +, -, @, a tab or a line break for a formula and runs it. So such a
// text gets an apostrophe before it, here and in no other answer; numbers are
// left alone. Who needs the exact text asks for JSON.
func appendCSV(dst []byte, records []jsontext.Value) []byte {
	column := make(map[string]int)
	var names []string
	for _, r := range records {
		for name := range openapi.Members(r) {
			if _, ok := column[name]; !ok {
				column[name] = len(names)
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 && len(records) > 0 {
		names = append(names, "value")
	}
	cells := make([]jsontext.Value, len(names))
	begin := len(dst)
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCell(dst, harmless(name))
	}
	if len(names) > 0 {
		dst = endRow(dst, begin)
	}
	for _, r := range records {
		clear(cells)
		for name, v := range openapi.Members(r) {
			cells[column[name]] = v
		}
		if r.Kind() != '{' {
			cells[0] = r
		}
		begin := len(dst)
		for i, v := range cells {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCell(dst, cellText(v))
		}
		dst = endRow(dst, begin)
	}
	return dst
}

// endRow ends the row that begins at an index of dst. One of a single empty
// cell has quotes, because an empty line is no record.
func endRow(dst []byte, begin int) []byte {
	if len(dst) == begin {
		dst = append(dst, `""`...)
	}
	return append(dst, '\r', '\n')
}

func cellText(v jsontext.Value) string {
	switch {
	case v == nil || v.Kind() == 'n':
		return ""
	case v.Kind() == '"':
		return harmless(rawjson.Unquote(v))
	}
	return string(v)
}

// harmless returns a text that no spreadsheet takes for a formula.
func harmless(s string) string {
	if s != "" && strings.IndexByte("=+-@\t\r\n", s[0]) >= 0 {
		return "'" + s
	}
	return s
}

// appendCell appends a field of RFC 4180, in quotes where it needs them.
func appendCell(dst []byte, s string) []byte {
	if !strings.ContainsAny(s, ",\"\r\n") && strings.TrimSpace(s) == s {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	dst = append(dst, bytes.ReplaceAll([]byte(s), []byte(`"`), []byte(`""`))...)
	return append(dst, '"')
}
