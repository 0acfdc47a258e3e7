package pickup

import (
	"encoding/binary"
	"maps"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/btree"
)

// The indexes of a collection, by top-level member. One is made when a query
// first asks for it and then carried from snapshot to snapshot.
type indexes struct {
	mu     sync.Mutex
	byName map[string]*index // guarded by mu
}

// An index leads from an equality key (see keys in value.go) to the records
// that have it, in their order. Its keys are that key, a NUL and the record's
// place.
type index = btree.Map[string, *Record]

func indexKey(key string, seq uint64) string {
	return string(binary.BigEndian.AppendUint64(append([]byte(key), 0), seq))
}

func (x *indexes) clone() *indexes {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := &indexes{byName: maps.Clone(x.byName)}
	for name, tree := range n.byName {
		n.byName[name] = tree.Copy()
	}
	return n
}

// get returns the index over the member called name of the records in order.
func (x *indexes) get(name string, order *btree.Map[uint64, *Record]) *index {
	x.mu.Lock()
	defer x.mu.Unlock()
	if tree := x.byName[name]; tree != nil {
		return tree
	}
	tree := new(index)
	order.Scan(func(_ uint64, r *Record) bool {
		addTo(tree, name, r)
		return true
	})
	if x.byName == nil {
		x.byName = make(map[string]*index)
	}
	x.byName[name] = tree
	return tree
}

func addTo(tree *index, name string, r *Record) {
	if v, ok := member(r.Value, name); ok {
		for _, k := range equalityKeys(v) {
			tree.Set(indexKey(k, r.seq), r)
		}
	}
}

// add enters a record into every index that there is. Like remove it is for
// the goroutine that writes, on a clone that nobody else has.
func (x *indexes) add(r *Record) {
	for name, tree := range x.byName {
		addTo(tree, name, r)
	}
}

func (x *indexes) remove(r *Record) {
	for name, tree := range x.byName {
		if v, ok := member(r.Value, name); ok {
			for _, k := range equalityKeys(v) {
				tree.Delete(indexKey(k, r.seq))
			}
		}
	}
}

// lookup yields the records whose member called name equals one of the values
// with these keys, each once.
func (c *collection) lookup(name string, keys []string) []*Record {
	tree := c.indexes.get(name, c.order)
	found := new(btree.Map[uint64, *Record])
	for _, k := range keys {
		tree.Ascend(k+"\x00", func(at string, r *Record) bool {
			if len(at) != len(k)+9 || at[:len(k)+1] != k+"\x00" {
				return at[:min(len(at), len(k)+1)] == k+"\x00"
			}
			found.Set(r.seq, r)
			return true
		})
	}
	return found.Values()
}

// holder returns the record other than the one with the key except whose
// member called name equals value, or nil.
func (c *collection) holder(name string, value jsontext.Value, except string) *Record {
	if value.Kind() == 'n' {
		return nil
	}
	for _, r := range c.lookup(name, equalityKeys(value)) {
		if r.ID != except {
			return r
		}
	}
	return nil
}
