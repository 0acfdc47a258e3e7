// Package source reads CSV (csv.go) and JSON for an import into a database. An Item is a record
// or another top-level field, and has the position of the value in the text, for reports of
// faults.
package source

import (
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
	Value   jsontext.Value // compact; [] for a list as a whole
	Outcome string         // set by Plan
	Done    bool           // the database has the item; set by the caller

	At   string // for JSON: a pointer to the value
	line int    // for CSV
}

// isList reports whether the top-level field is a collection.
func (i *Item) isList() bool { return !i.Whole || i.Value.Kind() == '[' }

// Place returns the line and, for JSON, the column of a value in the text. pointer leads from
// the item to the value.
func (i *Item) Place(text []byte, pointer string) string {
	if i.line > 0 {
		return strconv.Itoa(i.line)
	}
	line, column := rawjson.LineColumn(text, rawjson.Offset(text, i.At+pointer))
	return fmt.Sprintf("%d:%d", line, column)
}

// JSON returns the items of a JSON text, which may have comments: the fields of an object
// without "$schema", or the records of an array for the collection called name. The error is
// a *storage.BrokenError.
func JSON(file, name string, text []byte) (items []*Item, err error) {
	if rawjson.Begins(text) != '[' {
		name = ""
	}
	d, err := document.ParseMember(name, file, text, nil, nil)
	if err != nil {
		return nil, err
	}
	for _, c := range d.Contents() {
		at := rawjson.Pointer(c.Name)
		if name != "" {
			at = ""
		}
		switch {
		case c.Name == "$schema":
		case c.Kind != storage.Array:
			items = append(items, &Item{
				Field: c.Name,
				Whole: true,
				Value: rawjson.Compact(c.Value),
				At:    at,
			})
		case len(c.Elements) == 0:
			items = append(items, &Item{
				Field: c.Name,
				Whole: true,
				Value: []byte("[]"),
				At:    at,
			})
		}
		for i, e := range c.Elements {
			items = append(items, &Item{
				Field: c.Name,
				Value: rawjson.Compact(e.Value),
				At:    at + rawjson.Pointer(strconv.Itoa(i)),
			})
		}
	}
	return items, nil
}
