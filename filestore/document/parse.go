package document

import (
	"bytes"
	"cmp"
	"strings"

	"pickup/internal/jsonsyntax"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Parse parses data into a document, which keeps slices of it: the caller must
// not change data afterwards. It accepts JSON (RFC 8259) with comments, trailing
// commas and a byte order mark or, if the name of the file ends in .json5, JSON5
// (spec.json5.org). Duplicate names, invalid UTF-8 and a top level that is not an
// object are errors.
//
// The error is a *storage.BrokenError for the file called file. idMember returns
// the member that has the ids of a collection; nil means "id".
func Parse(file string, data []byte, idMember func(collection string) string) (*Document, error) {
	return ParseMember("", file, data, idMember, nil)
}

// ParseMember is like Parse for a text that is the value of one member, the one called
// only. If that is empty, the text is a database.
//
// If the text is an edit of the document before, which may be nil, and most elements
// have not changed, the new document shares those with before and does not keep data. If
// before is JSON5, so is the text.
func ParseMember(
	only, file string, data []byte, idMember func(collection string) string, before *Document,
) (*Document, error) {
	if idMember == nil {
		idMember = func(string) string { return "id" }
	}
	f := form{idMember: idMember, only: only, json5: IsJSON5(file) || before != nil && before.json5}
	d := f.parse(data, before)
	if d == nil {
		return nil, f.broken(file, data)
	}
	return d, nil
}

// IsJSON5 reports whether the file called name, or the file of which it is a conflict copy, has JSON5.
func IsJSON5(name string) bool {
	return strings.HasSuffix(name, ".json5") || strings.Contains(name, ".json5.conflict-")
}

// grammar is what a file must follow.
var grammar = jsonsyntax.Grammar{
	Noun: "file", Root: "an object of collections", Comments: true, MaxDepth: deepest,
}

// broken returns the error for data, which does not parse.
func (f form) broken(file string, data []byte) error {
	g := grammar
	g.JSON5 = f.json5
	if f.only != "" {
		g.Root = ""
	}
	offset, reason, _ := g.Explain(data)
	if bytes.HasPrefix(data[min(offset, len(data)):], []byte("<<<<<<<")) {
		reason = cmp.Or(f.explainConflicts(data), reason)
	}
	line, column := rawjson.LineColumn(data, offset)
	return &storage.BrokenError{
		File: file, Line: line, Column: column,
		Reason:  cmp.Or(reason, "this is not valid JSON"),
		Excerpt: rawjson.ExcerptAt(data, offset),
	}
}
