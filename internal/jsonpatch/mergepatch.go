package pickup

import (
	"github.com/go-json-experiment/json/jsontext"
)

// MergePatch is the algorithm of RFC 7396 section 2 on compact values. Members
// keep their places, new ones stand behind them.
func MergePatch(target, patch jsontext.Value) jsontext.Value {
	n := &node{text: target}
	n.merge(patch)
	return n.value()
}

func (n *node) merge(patch jsontext.Value) {
	if patch.Kind() != '{' {
		*n = node{text: patch}
		return
	}
	if !n.open() || n.kind != '{' {
		*n = node{kind: '{'}
	}
	at := make(map[string]int, len(n.names))
	for i, name := range n.names {
		at[text(name)] = i
	}
	gone := make(map[*node]bool)
	members(patch, func(name, v jsontext.Value) bool {
		i, ok := at[text(name)]
		switch {
		case ok && v.Kind() == 'n':
			gone[n.kids[i]] = true
		case ok:
			n.kids[i].merge(v)
		case v.Kind() != 'n':
			kid := new(node)
			kid.merge(v)
			n.names, n.kids = append(n.names, name), append(n.kids, kid)
		}
		return true
	})
	if len(gone) == 0 {
		return
	}
	old := *n
	n.names, n.kids = nil, nil
	for i, kid := range old.kids {
		if !gone[kid] {
			n.names, n.kids = append(n.names, old.names[i]), append(n.kids, kid)
		}
	}
}
