package jsonpatch

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A Node is a value in a document that a patch changes. It is parsed only as far
// as the patch leads; all other values keep their text.
type Node struct {
	Text  jsontext.Value   // compact; nil if the node is open
	Kind  jsontext.Kind    // of an open node: '{' or '['
	names []jsontext.Value // quoted, of an open object
	Kids  []*Node          // the values of an open object, or the elements of an open array

	// Origin identifies the node for the caller. It moves with the node.
	Origin any
}

// Open parses the items of an object or array into nodes. It reports false for other values.
func (n *Node) Open() bool {
	if n.Text == nil {
		return n.Kind != 0
	}
	switch n.Kind = n.Text.Kind(); n.Kind {
	case '{':
		for name, v := range rawjson.Members(n.Text) {
			n.names = append(n.names, name)
			n.Kids = append(n.Kids, &Node{Text: v})
		}
	case '[':
		for v := range rawjson.Elements(n.Text) {
			n.Kids = append(n.Kids, &Node{Text: v})
		}
	default:
		return false
	}
	n.Text = nil
	return true
}

// append appends the text of the node.
func (n *Node) append(dst []byte) []byte {
	if n.Text != nil {
		return append(dst, n.Text...)
	}
	dst = append(dst, byte(n.Kind))
	for i, kid := range n.Kids {
		dst = rawjson.AppendComma(dst)
		if n.Kind == '{' {
			dst = append(append(dst, n.names[i]...), ':')
		}
		dst = kid.append(dst)
	}
	return append(dst, rawjson.Closing(byte(n.Kind)))
}

// Value returns the text of the node.
func (n *Node) Value() jsontext.Value {
	if n.Text != nil {
		return n.Text
	}
	return n.append(nil)
}

// Find returns the index of the child that a token of a JSON Pointer means, or
// -1. The node is open.
func (n *Node) Find(token string) int {
	if n.Kind == '{' {
		return slices.IndexFunc(n.names, func(name jsontext.Value) bool { return rawjson.NameIs(name, token) })
	}
	if i, ok := rawjson.Index(token); ok && i < len(n.Kids) {
		return i
	}
	return -1
}

// insert adds a child at a token. In an object it replaces the field of that
// name or comes last; in an array it is inserted before the element of that
// index, or last. It reports false if an array has no such index.
func (n *Node) insert(token string, kid *Node) bool {
	if n.Kind == '{' {
		if i := n.Find(token); i >= 0 {
			n.Kids[i] = kid
			return true
		}
		n.Append(token, kid)
		return true
	}
	i, ok := rawjson.Index(token)
	if token == "-" {
		i, ok = len(n.Kids), true
	}
	if !ok || i > len(n.Kids) {
		return false
	}
	n.Kids = slices.Insert(n.Kids, i, kid)
	return true
}

// take removes the child with the index i and returns it.
func (n *Node) take(i int) *Node {
	kid := n.Kids[i]
	n.Kids = slices.Delete(n.Kids, i, i+1)
	if n.Kind == '{' {
		n.names = slices.Delete(n.names, i, i+1)
	}
	return kid
}

// Append adds a field at the end of an object.
func (n *Node) Append(name string, kid *Node) {
	n.names = append(n.names, rawjson.AppendQuote(nil, name))
	n.Kids = append(n.Kids, kid)
}

// Name returns the name of the i-th field of an open object.
func (n *Node) Name(i int) string { return rawjson.Unquote(n.names[i]) }
