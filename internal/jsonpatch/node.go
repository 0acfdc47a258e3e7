package jsonpatch

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A Node is a value of a document that a patch changes. It is read no further
// than the patch leads: what no operation touches keeps its text, with its
// numbers and the order of its members.
type Node struct {
	text  jsontext.Value   // compact; nil where the node is open
	kind  jsontext.Kind    // of an open node: '{' or '['
	names []jsontext.Value // quoted, of an open object
	kids  []*Node

	// Origin is what the node was when the patch began, as its owner says. It
	// goes where the node goes.
	Origin any
}

// Open makes kids of what is in an object or an array. It reports false for
// other values.
func (n *Node) Open() bool {
	if n.text == nil {
		return n.kind != 0
	}
	switch n.kind = n.text.Kind(); n.kind {
	case '{':
		for name, v := range rawjson.Members(n.text) {
			n.names = append(n.names, name)
			n.kids = append(n.kids, &Node{text: v})
		}
	case '[':
		for v := range rawjson.Elements(n.text) {
			n.kids = append(n.kids, &Node{text: v})
		}
	default:
		return false
	}
	n.text = nil
	return true
}

// append appends the node's text.
func (n *Node) append(dst []byte) []byte {
	if n.text != nil {
		return append(dst, n.text...)
	}
	dst = append(dst, byte(n.kind))
	for i, kid := range n.kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.kind == '{' {
			dst = append(append(dst, n.names[i]...), ':')
		}
		dst = kid.append(dst)
	}
	return append(dst, byte(n.kind)+2) // '}' and ']' come two behind '{' and '['
}

// Value returns the node's text.
func (n *Node) Value() jsontext.Value {
	if n.text != nil {
		return n.text
	}
	return n.append(nil)
}

// Find returns the index of the kid that a token of a JSON Pointer names, -1
// where there is none. The node is open.
func (n *Node) Find(token string) int {
	if n.kind == '{' {
		return slices.IndexFunc(n.names, func(name jsontext.Value) bool { return rawjson.NameIs(name, token) })
	}
	if i, ok := arrayIndex(token); ok && i < len(n.kids) {
		return i
	}
	return -1
}

// insert puts a kid where a token says: an object's member in its place or
// behind the last, an array's element before the one that is there, or behind
// the last. It reports false where an array has no such place.
func (n *Node) insert(token string, kid *Node) bool {
	if n.kind == '{' {
		if i := n.Find(token); i >= 0 {
			n.kids[i] = kid
			return true
		}
		n.names = append(n.names, rawjson.AppendQuote(nil, token))
		n.kids = append(n.kids, kid)
		return true
	}
	i, ok := arrayIndex(token)
	if token == "-" {
		i, ok = len(n.kids), true
	}
	if !ok || i > len(n.kids) {
		return false
	}
	n.kids = slices.Insert(n.kids, i, kid)
	return true
}

// take removes a kid.
func (n *Node) take(i int) *Node {
	kid := n.kids[i]
	n.kids = slices.Delete(n.kids, i, i+1)
	if n.kind == '{' {
		n.names = slices.Delete(n.names, i, i+1)
	}
	return kid
}

// equal reports whether the node's value equals v as RFC 6902 section 4.6 has
// it: numbers by value, strings by what they spell, objects whatever the order
// of their members.
func (n *Node) equal(v jsontext.Value) bool {
	if kind := v.Kind(); kind != '{' && kind != '[' {
		return n.text != nil && rawjson.Equal(n.text, v)
	}
	if !n.Open() || n.kind != v.Kind() {
		return false
	}
	want := &Node{text: v}
	want.Open()
	if len(want.kids) != len(n.kids) {
		return false
	}
	if n.kind == '[' {
		for i, kid := range want.kids {
			if !n.kids[i].equal(kid.text) {
				return false
			}
		}
		return true
	}
	byName := make(map[string]*Node, len(n.kids))
	for i, name := range n.names {
		byName[rawjson.Unquote(name)] = n.kids[i]
	}
	for i, name := range want.names {
		if kid := byName[rawjson.Unquote(name)]; kid == nil || !kid.equal(want.kids[i].text) {
			return false
		}
	}
	return true
}

// arrayIndex reads an index as RFC 6901 section 4 spells it: digits without a
// leading zero.
func arrayIndex(token string) (int, bool) {
	if !rawjson.IsIndex(token) {
		return 0, false
	}
	i, err := strconv.Atoi(token)
	return i, err == nil
}

// NewNode returns the node of a compact value.
func NewNode(text jsontext.Value) *Node { return &Node{text: text} }

// NewObject returns the node of an object that has no members yet.
func NewObject() *Node { return &Node{kind: '{'} }

// NewArray returns the node of an array of these elements.
func NewArray(elements []*Node) *Node { return &Node{kind: '[', kids: elements} }

// Append puts a member behind the others of an object.
func (n *Node) Append(name string, kid *Node) {
	n.names = append(n.names, rawjson.AppendQuote(nil, name))
	n.kids = append(n.kids, kid)
}

// Kids returns the elements of an open array, or the values of an open object.
func (n *Node) Kids() []*Node { return n.kids }

// Name returns the name of an open object's i-th member.
func (n *Node) Name(i int) string { return rawjson.Unquote(n.names[i]) }

// IsOpenArray reports whether the node is an array whose elements are nodes.
func (n *Node) IsOpenArray() bool { return n.text == nil && n.kind == '[' }

// DeleteFunc removes the elements for which del returns true.
func (n *Node) DeleteFunc(del func(*Node) bool) { n.kids = slices.DeleteFunc(n.kids, del) }
