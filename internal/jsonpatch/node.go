package jsonpatch

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A node is a value in a patched document. The nodes on the paths of the patch are
// parsed. All other values keep their text.
type node struct {
	text  jsontext.Value   // compact; nil if the node is open
	kind  jsontext.Kind    // of an open node: '{' or '['
	names []jsontext.Value // quoted, of an open object
	kids  []*node          // the values of an open object, or the elements of an open array
}

// open parses the items of an object or array into nodes. For other values open reports false.
func (n *node) open() bool {
	if n.text == nil {
		return n.kind != 0
	}
	switch n.kind = n.text.Kind(); n.kind {
	case '{':
		for name, v := range rawjson.Members(n.text) {
			n.names = append(n.names, name)
			n.kids = append(n.kids, &node{text: v})
		}
	case '[':
		for v := range rawjson.Elements(n.text) {
			n.kids = append(n.kids, &node{text: v})
		}
	default:
		return false
	}
	n.text = nil
	return true
}

// appendTo appends the text of the node.
func (n *node) appendTo(dst []byte) []byte {
	if n.text != nil {
		return append(dst, n.text...)
	}
	dst = append(dst, byte(n.kind))
	for i, kid := range n.kids {
		dst = rawjson.AppendComma(dst)
		if n.kind == '{' {
			dst = append(append(dst, n.names[i]...), ':')
		}
		dst = kid.appendTo(dst)
	}
	return append(dst, rawjson.Closing(byte(n.kind)))
}

// value returns the text of the node.
func (n *node) value() jsontext.Value {
	if n.text != nil {
		return n.text
	}
	return n.appendTo(nil)
}

// find returns the index of the child at a token of a JSON Pointer, or -1. The
// node is open.
func (n *node) find(token string) int {
	if n.kind == '{' {
		return slices.IndexFunc(n.names, func(name jsontext.Value) bool { return rawjson.NameIs(name, token) })
	}
	if i, ok := rawjson.Index(token); ok && i < len(n.kids) {
		return i
	}
	return -1
}

// insert adds a child at a token. In an object, the child replaces the field with
// the name, or comes last. In an array, the child comes before the element with
// the index, or last. insert reports false if the array has no such index.
func (n *node) insert(token string, kid *node) bool {
	if n.kind == '{' {
		if i := n.find(token); i >= 0 {
			n.kids[i] = kid
			return true
		}
		n.names = append(n.names, rawjson.AppendQuote(nil, token))
		n.kids = append(n.kids, kid)
		return true
	}
	i, ok := rawjson.Index(token)
	if token == "-" {
		i, ok = len(n.kids), true
	}
	if !ok || i > len(n.kids) {
		return false
	}
	n.kids = slices.Insert(n.kids, i, kid)
	return true
}

// take removes and returns the child with the index i.
func (n *node) take(i int) *node {
	kid := n.kids[i]
	n.kids = slices.Delete(n.kids, i, i+1)
	if n.kind == '{' {
		n.names = slices.Delete(n.names, i, i+1)
	}
	return kid
}
