// Package jsonpatch applies JSON Patches (RFC 6902) to JSON text. Values that no
// operation touches keep their spelling.
//
// Parse returns the Operations of a patch, and Apply applies them to a value, which it
// parses only as far as the operations lead.
package jsonpatch
