// Package rawjson reads valid JSON text in place: members, elements, pointers,
// equality, exact numbers. It decodes nothing that nobody asks for.
package rawjson
