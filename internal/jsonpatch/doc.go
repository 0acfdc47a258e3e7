// Package jsonpatch applies JSON Patches (RFC 6902) and merge patches (RFC 7396)
// to JSON text. What no operation touches keeps its spelling.
package jsonpatch
