// Package source reads what people import into a database: CSV (csv.go) and JSON. An
// Item is a record or another top-level field, and knows its place in the text, so that
// what is wrong with it is reported there.
package source

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore/document"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// An Item is a record of a collection, or a top-level field as a whole.
type Item struct {
	Field   string // the top-level field
	Whole   bool
	Value   jsontext.Value // compact; of a list as a whole, []
	Outcome string         // set by Plan
	Done    bool           // it is in the database; set by the caller

	At   string // of JSON: a pointer to the value
	line int    // of CSV
}

// isList reports whether the top-level field is a collection.
func (i *Item) isList() bool { return !i.Whole || i.Value.Kind() == '[' }

// Place returns the line in the text of what pointer leads to in the item; of JSON, with
// the column.
func (i *Item) Place(text []byte, pointer string) string {
	if i.line > 0 {
		return strconv.Itoa(i.line)
	}
	line, column := rawjson.LineColumn(text, rawjson.Offset(text, i.At+pointer))
	return fmt.Sprintf("%d:%d", line, column)
}

// JSON returns the items of a JSON text, which may have comments: the fields of an object,
// without "$schema", or the records of an array, which are for the collection called name.
// The error is a *storage.BrokenError.
func JSON(file, name string, text []byte) (items []*Item, err error) {
	before := ""
	if start := rawjson.SkipGap(text, len(text)-len(withoutMark(text))); start < len(text) && text[start] == '[' {
		before = "{" + string(rawjson.AppendQuote(nil, name)) + ":"
		text = append(append([]byte(before), withoutMark(text)...), '}')
	}
	d, err := document.Parse(file, text, nil)
	if err != nil {
		if broken, ok := errors.AsType[*storage.BrokenError](err); ok && broken.Line == 1 {
			broken.Column -= len([]rune(before))
		}
		return nil, err
	}
	for _, c := range d.Contents() {
		at := rawjson.Pointer(c.Name)
		if before != "" {
			at = ""
		}
		switch {
		case c.Name == "$schema":
		case c.Kind != storage.Array:
			items = append(items, &Item{Field: c.Name, Whole: true, Value: rawjson.Compact(c.Value), At: at})
		case len(c.Elements) == 0:
			items = append(items, &Item{Field: c.Name, Whole: true, Value: []byte("[]"), At: at})
		}
		for i, e := range c.Elements {
			items = append(items, &Item{Field: c.Name, Value: rawjson.Compact(e.Value), At: at + rawjson.Pointer(strconv.Itoa(i))})
		}
	}
	return items, nil
}

// withoutMark returns text without a byte order mark.
func withoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }
