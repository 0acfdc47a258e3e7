// Package rawjson reads and edits JSON text in place. It decodes only what a
// caller asks for, so numbers, names and strings keep their spelling.
//
// Everything but Explain expects valid JSON; only then are the results
// meaningful. No function panics on anything else that has passed a decoder.
//
//   - scan.go finds the ends of values, members and elements;
//   - pointer.go follows JSON Pointers and finds lines and columns;
//   - edit.go compacts values and sets members;
//   - equal.go and number.go compare values, numbers exactly;
//   - text.go has what error messages say about values.
package rawjson
