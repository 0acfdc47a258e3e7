package jsonpatch

import (
	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// Merge applies a merge patch as RFC 7396 section 2 defines. Both values are
// compact. Members keep their places; new ones come after them.
func Merge(target, patch jsontext.Value) jsontext.Value {
	n := &Node{text: target}
	n.merge(patch)
	return n.Value()
}

func (n *Node) merge(patch jsontext.Value) {
	if patch.Kind() != '{' {
		*n = Node{text: patch}
		return
	}
	if !n.Open() || n.kind != '{' {
		*n = Node{kind: '{'}
	}
	at := make(map[string]int, len(n.names))
	for i, name := range n.names {
		at[rawjson.Unquote(name)] = i
	}
	gone := make(map[*Node]bool)
	for name, v := range rawjson.Members(patch) {
		i, ok := at[rawjson.Unquote(name)]
		switch {
		case ok && v.Kind() == 'n':
			gone[n.Kids[i]] = true
		case ok:
			n.Kids[i].merge(v)
		case v.Kind() != 'n':
			kid := new(Node)
			kid.merge(v)
			n.names, n.Kids = append(n.names, name), append(n.Kids, kid)
		}
	}
	if len(gone) == 0 {
		return
	}
	old := *n
	n.names, n.Kids = nil, nil
	for i, kid := range old.Kids {
		if !gone[kid] {
			n.names, n.Kids = append(n.names, old.names[i]), append(n.Kids, kid)
		}
	}
}
