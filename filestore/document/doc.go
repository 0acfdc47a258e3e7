// Package document reads and edits the text of a database file: JSON with
// comments. A change keeps every byte that it does not concern. The package knows
// nothing of files.
//
// A Document is immutable. Parse (parse.go, parser.go) finds its members and the
// elements of its arrays; ParseMember does so faster if most of the text is known
// from before. Apply (edit.go) returns the next Document, which shares the memory
// of what stayed.
//
// Inside a record, edits work on a list of items with the gaps between them:
//
//   - merge.go changes a value as little as possible;
//   - layout.go lays out a new value like its neighbours, or in the style of the
//     file (style.go);
//   - gap.go splits and joins gaps (white space, comments and a comma) and chooses
//     the gap before a new item.
//
// threeway.go merges two edits of a document: mergelist.go merges lists by the keys of
// their items, elements.go finds keys for elements without ids, comments.go merges what
// belongs to items, renumbered.go finds records with other ids, markers.go writes conflicts with
// git's markers. conflicts.go describes these when a text with them is parsed.
//
// locate.go finds the line and column of a value.
package document
