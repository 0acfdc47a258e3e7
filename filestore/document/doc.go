// Package document reads and edits the text of a database file: JSON with
// comments. A change keeps every byte that it does not concern. The package knows
// nothing of files.
//
// A Document is immutable. Parse (parse.go, cut.go, parser.go) finds its members and the
// elements of its arrays. Apply (edit.go) returns the next Document, which shares the memory of the
// unchanged parts.
//
// Inside a record, edits work on a list of items with the gaps between them (list.go):
//
//   - merge.go changes a value as little as possible;
//   - insert.go adds items to a list;
//   - layout.go lays out a new value like its neighbors, or in the style of the
//     file (style.go, filestyle.go);
//   - gap.go splits and joins gaps (white space, comments and a comma).
//
// threeway.go merges two edits of a document: mergelist.go merges lists by the keys of
// their items (keyed.go), elements.go finds keys for elements without ids, comments.go merges
// comments, renumbered.go finds records whose id changed, markers.go writes conflicts with
// git's markers. conflicts.go describes these conflicts when a text with markers is parsed.
//
// locate.go finds the line and column of a value.
package document
