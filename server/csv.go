package server

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// csvType is the media type of RFC 4180: lines end in CRLF, and the first one has
// the names.
const csvType = "text/csv; charset=utf-8; header=present"

// appendCSV appends records as a table with a column for each top-level member, in
// the order in which they first occur. Strings are unquoted, other values are JSON;
// null and missing members are empty cells. An element that is not an object is in
// the first column.
//
// Spreadsheets run text that begins with =, +, -, @, a tab or a line break as a
// formula. Such text, but not a number, gets an apostrophe in front. Clients that
// need the exact text use JSON.
func appendCSV(dst []byte, records []jsontext.Value) []byte {
	column := make(map[string]int)
	var names []string
	for _, r := range records {
		for quoted := range rawjson.Members(r) {
			name := rawjson.Unquote(quoted)
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
		for quoted, v := range rawjson.Members(r) {
			name := rawjson.Unquote(quoted)
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

// endRow ends the row that begins at dst[begin]. A single empty cell is quoted,
// because an empty line is not a record.
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

// harmless returns text that is not a formula.
func harmless(s string) string {
	if s != "" && strings.IndexByte("=+-@\t\r\n", s[0]) >= 0 {
		return "'" + s
	}
	return s
}

// appendCell appends a field of RFC 4180, quoted if necessary.
func appendCell(dst []byte, s string) []byte {
	if !strings.ContainsAny(s, ",\"\r\n") && strings.TrimSpace(s) == s {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	dst = append(dst, bytes.ReplaceAll([]byte(s), []byte(`"`), []byte(`""`))...)
	return append(dst, '"')
}
