package pickup

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A node is a value of a document that a patch changes. It is read no further
// than the patch leads: what no operation touches keeps its text, with its
// numbers and the order of its members.
type node struct {
	text  jsontext.Value   // compact; nil where the node is open
	kind  jsontext.Kind    // of an open node: '{' or '['
	names []jsontext.Value // quoted, of an open object
	kids  []*node

	// Origin is what the node was when the patch began, as its owner says. It
	// goes where the node goes.
	Origin any
}

// open makes kids of what is in an object or an array. It reports false for
// other values.
func (n *node) open() bool {
	if n.text == nil {
		return n.kind != 0
	}
	switch n.kind = n.text.Kind(); n.kind {
	case '{':
		members(n.text, func(name, v jsontext.Value) bool {
			n.names = append(n.names, name)
			n.kids = append(n.kids, &node{text: v})
			return true
		})
	case '[':
		elements(n.text, func(v jsontext.Value) bool {
			n.kids = append(n.kids, &node{text: v})
			return true
		})
	default:
		return false
	}
	n.text = nil
	return true
}

// append appends the node's text.
func (n *node) append(dst []byte) []byte {
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

// value returns the node's text.
func (n *node) value() jsontext.Value {
	if n.text != nil {
		return n.text
	}
	return n.append(nil)
}

// find returns the index of the kid that a token of a JSON Pointer names, -1
// where there is none. The node is open.
func (n *node) find(token string) int {
	if n.kind == '{' {
		return slices.IndexFunc(n.names, func(name jsontext.Value) bool { return nameIs(name, token) })
	}
	if i, ok := arrayIndex(token); ok && i < len(n.kids) {
		return i
	}
	return -1
}

// insert puts a kid where a token says: an object's member in its place or
// behind the last, an array's element before the one that is there, or behind
// the last. It reports false where an array has no such place.
func (n *node) insert(token string, kid *node) bool {
	if n.kind == '{' {
		if i := n.find(token); i >= 0 {
			n.kids[i] = kid
			return true
		}
		n.names = append(n.names, appendName(nil, token))
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
func (n *node) take(i int) *node {
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
func (n *node) equal(v jsontext.Value) bool {
	if kind := v.Kind(); kind != '{' && kind != '[' {
		return n.text != nil && sameValue(n.text, v)
	}
	if !n.open() || n.kind != v.Kind() {
		return false
	}
	want := &node{text: v}
	want.open()
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
	byName := make(map[string]*node, len(n.kids))
	for i, name := range n.names {
		byName[text(name)] = n.kids[i]
	}
	for i, name := range want.names {
		if kid := byName[text(name)]; kid == nil || !kid.equal(want.kids[i].text) {
			return false
		}
	}
	return true
}

// arrayIndex reads an index as RFC 6901 section 4 spells it: digits without a
// leading zero.
func arrayIndex(token string) (int, bool) {
	if !digits(token) {
		return 0, false
	}
	i, err := strconv.Atoi(token)
	return i, err == nil
}

// NewNode returns the node of a compact value.
func NewNode(text jsontext.Value) *node { return &node{text: text} }

// NewObject returns the node of an object that has no members yet.
func NewObject() *node { return &node{kind: '{'} }

// NewArray returns the node of an array of these elements.
func NewArray(elements []*node) *node { return &node{kind: '[', kids: elements} }

// Append puts a member behind the others of an object.
func (n *node) Append(name string, kid *node) {
	n.names = append(n.names, appendName(nil, name))
	n.kids = append(n.kids, kid)
}

// Kids returns the elements of an open array, or the values of an open object.
func (n *node) Kids() []*node { return n.kids }

// Name returns the name of an open object's i-th member.
func (n *node) Name(i int) string { return text(n.names[i]) }

// IsOpenArray reports whether the node is an array whose elements are nodes.
func (n *node) IsOpenArray() bool { return n.text == nil && n.kind == '[' }

// DeleteFunc removes the elements for which del returns true.
func (n *node) DeleteFunc(del func(*node) bool) { n.kids = slices.DeleteFunc(n.kids, del) }
