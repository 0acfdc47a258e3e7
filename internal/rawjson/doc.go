// Package rawjson reads and edits JSON text in place. It decodes only requested
// values, so numbers, names and strings keep their spelling. The text must be
// valid JSON.
//
//   - scan.go finds the ends of values, fields and elements;
//   - pointer.go follows JSON Pointers and finds lines and columns;
//   - edit.go compacts values, replaces escapes, sets fields and applies merge patches;
//   - merge.go keeps the order of fields in a value that replaces another;
//   - align.go finds the edits that turn an array into another;
//   - equal.go and number.go compare values, numbers exactly;
//   - commented.go reads text with comments and trailing commas;
//   - text.go has what error messages say about values.
package rawjson
