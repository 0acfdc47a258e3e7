// Package jsonpatch applies JSON Patches (RFC 6902) to JSON text. Values that no
// operation touches keep their spelling.
//
// Parse returns the Operations of a patch, and a Patcher applies them to a tree
// of Nodes, which are parsed only as far as the operations lead.
package jsonpatch
