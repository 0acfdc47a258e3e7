package storage

import "pickup/internal/rawjson"

// An UnreachableElement is an element that lists contain but no URL reaches, a number served as
// null, or a file of a folder that is not served. It is probably a mistake.
type UnreachableElement struct {
	File         string // "" if the store has one file
	Line, Column int    // of the element, from 1; the column counts code points; 0: the file
	Pointer      string // RFC 6901, from the top of the file
	Detail       string // the mistake and the consequence, one sentence
}

// A Place is a part of a file that a JSON Pointer leads into: a top-level field, or an
// element of a top-level array.
type Place struct {
	File         string // "" if the store has one file
	Line, Column int    // where Text begins
	Text         []byte
	Inside       string // the rest of the pointer, which leads into Text
}

// Locate returns the line and the column of the value in p.Text that pointer leads to.
func (p Place) Locate(pointer string) (line, column int, ok bool) {
	line, column, ok = rawjson.Locate(p.Text, pointer)
	if line == 1 {
		column += p.Column - 1
	}
	return line + p.Line - 1, column, ok
}
