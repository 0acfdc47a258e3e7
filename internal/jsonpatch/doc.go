// Package jsonpatch applies JSON Patches (RFC 6902) to JSON text. Other values keep
// their spelling.
//
// Parse returns the Operations of a patch, and Apply applies the Operations to a value.
// Apply parses only the values on the paths of the operations.
package jsonpatch
