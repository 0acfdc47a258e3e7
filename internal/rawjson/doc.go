// Package rawjson reads and edits JSON text in place. Numbers, names and strings keep their
// spelling, because the package decodes only requested values. The text must be valid JSON.
//
//   - scan.go finds the ends of values, fields and elements;
//   - pointer.go follows JSON Pointers and finds lines and columns;
//   - edit.go compacts values, replaces escapes, sets fields and applies merge patches;
//   - merge.go gives a new value the order of fields of the old value;
//   - align.go finds the edits between two arrays;
//   - equal.go and number.go compare values, numbers exactly;
//   - commented.go reads text with comments and trailing commas;
//   - text.go describes values in error messages.
package rawjson
