package document

import (
	"bytes"
	"cmp"

	"pickup/internal/jsonsyntax"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Parse parses data into a document, which keeps slices of it: the caller must
// not change data afterwards. It accepts JSON (RFC 8259) with comments, trailing
// commas and a byte order mark. Duplicate names, invalid UTF-8 and a top level
// that is not an object are errors.
//
// The error is a *storage.BrokenError for the file called file. idMember returns
// the member that has the ids of a collection; nil means "id".
func Parse(file string, data []byte, idMember func(collection string) string) (*Document, error) {
	return ParseMember("", file, data, idMember, nil)
}

// ParseMember is like Parse for a text that is the value of one member, the one called
// only. If that is empty, the text is a database.
//
// It is faster if the text is an edit of the document before, which may be nil:
// unchanged elements are not validated again. If they are most of the text, the new
// document shares them with before and does not keep data.
func ParseMember(
	only, file string, data []byte, idMember func(collection string) string, before *Document,
) (*Document, error) {
	if idMember == nil {
		idMember = func(string) string { return "id" }
	}
	d := parse(only, data, idMember, before)
	if d == nil {
		return nil, broken(only, file, data, idMember)
	}
	return d, nil
}

// grammar is what a file must follow.
var grammar = jsonsyntax.Grammar{
	Noun: "file", Root: "an object of collections", Comments: true, MaxDepth: deepest,
}

// broken returns the error for data, which does not parse.
func broken(only, file string, data []byte, idMember func(collection string) string) error {
	g := grammar
	if only != "" {
		g.Root = ""
	}
	offset, reason, _ := g.Explain(data)
	if bytes.HasPrefix(data[min(offset, len(data)):], []byte("<<<<<<<")) {
		reason = cmp.Or(explainConflicts(only, data, idMember), reason)
	}
	line, column := rawjson.LineColumn(data, offset)
	return &storage.BrokenError{
		File: file, Line: line, Column: column,
		Reason:  cmp.Or(reason, "this is not valid JSON"),
		Excerpt: rawjson.ExcerptAt(data, offset),
	}
}
