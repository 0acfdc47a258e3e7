package server

import (
	"bytes"
	"encoding/csv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// csvType is the media type of RFC 4180: lines end in CRLF, and the first line has the names.
const csvType = "text/csv; charset=utf-8; header=present"

// appendCSV appends records as a table with a column for each top-level field, in the order of
// appearance. Strings are unquoted, other values are JSON; null and missing fields are empty cells.
// An element that is not an object is in the first column.
//
// Spreadsheets run text that starts with =, +, -, @, a tab or a line break as a formula. appendCSV
// puts an apostrophe before such text, except numbers. Clients that need the exact text use JSON.
func appendCSV(dst []byte, records []jsontext.Value) []byte {
	column := make(map[string]int)
	var names []string
	for _, r := range records {
		for name := range rawjson.Fields(r) {
			if _, ok := column[name]; !ok {
				column[name] = len(names)
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 && len(records) > 0 {
		names = append(names, "value")
	}
	if len(names) > 0 {
		head := make([]string, len(names))
		for i, name := range names {
			head[i] = harmless(name)
		}
		dst = appendRow(dst, head)
	}
	for _, r := range records {
		cells := make([]string, len(names))
		for quoted, v := range rawjson.Members(r) {
			cells[column[rawjson.Unquote(quoted)]] = cellText(v)
		}
		if r.Kind() != '{' {
			cells[0] = cellText(r)
		}
		dst = appendRow(dst, cells)
	}
	return dst
}

// appendRow appends a record of RFC 4180. A single empty cell is quoted, because an empty
// line is not a record.
func appendRow(dst []byte, cells []string) []byte {
	if len(cells) == 1 && cells[0] == "" {
		return append(dst, "\"\"\r\n"...)
	}
	b := bytes.NewBuffer(dst)
	w := csv.NewWriter(b) // UseCRLF would change the line breaks in cells
	_ = w.Write(cells)    // a bytes.Buffer returns no error
	w.Flush()
	return append(bytes.TrimSuffix(b.Bytes(), []byte("\n")), "\r\n"...)
}

func cellText(v jsontext.Value) string {
	switch v.Kind() {
	case 'n':
		return ""
	case '"':
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
