package storage

import "pickup/internal/rawjson"

// An UnreachableElement is an element of a file that is listed but that no URL reaches,
// or a file of a folder that is not served. It is probably a mistake.
type UnreachableElement struct {
	File         string // "" if the store has one file
	Line, Column int    // of the element, from 1; the column counts code points; 0: the file
	Pointer      string // RFC 6901, from the top of the file
	Detail       string // what is wrong and what it means, one sentence
}

// A Place is where a JSON Pointer leads in a document: to a top-level field, or to
// an element of one that is an array. Inside is a pointer from there on, or from
// the field's parent: into Text, which begins at the line and column.
type Place struct {
	File         string // "" if the store has one file
	Line, Column int
	Text         []byte
	Inside       string
}

// Locate returns the line and the column of what a pointer of Text leads to.
func (p Place) Locate(pointer string) (line, column int, ok bool) {
	line, column, ok = rawjson.Locate(p.Text, pointer)
	if line == 1 {
		column += p.Column - 1
	}
	return line + p.Line - 1, column, ok
}
