package pickup

import (
	"github.com/go-json-experiment/json/jsontext"
)

// MergePatch changes a record by a JSON Merge Patch (RFC 7396): objects are
// merged at every depth, and null removes a member. It is judged by the members
// that are sent. Errors are as Replace's.
func (tx *Tx) MergePatch(collection, id string, patch jsontext.Value) (*Record, error) {
	return tx.mergeRecord(collection, id, patch, mergePatch)
}

// MergePatchObject changes a singular resource by a JSON Merge Patch. Errors
// are as Replace's.
func (tx *Tx) MergePatchObject(name string, patch jsontext.Value) (jsontext.Value, error) {
	return tx.setObject(name, patch, mergePatch, memberNames(patch))
}

// mergePatch is the algorithm of RFC 7396 section 2 on compact values. Members
// keep their places, new ones stand behind them.
func mergePatch(target, patch jsontext.Value) jsontext.Value {
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
