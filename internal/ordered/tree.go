package ordered

import (
	"iter"
	"math/bits"
	"slices"
	"sync/atomic"
)

// A tree holds values in slots. A node covers 32 times as many slots as a child, so
// paths are short. Empty subtrees have no node.
type tree[V any] struct {
	root  *node[V]
	level int    // the level of the root; leaves have level 0
	next  int    // the first slot never used
	owner *owner // the owner of nodes that the tree may change in place
}

// An owner identifies a copy of a tree by address. (The type is not empty, because all
// empty values may have the same address.)
type owner struct{ _ byte }

type node[V any] struct {
	owner *owner
	count int        // number of values below
	kids  []*node[V] // the children of an inner node; nil for an empty subtree
	has   uint32     // the values of a leaf: bit i is set if value i exists
	vals  []V
	memo  atomic.Pointer[any] // see Map.Blocks
}

const (
	step  = 5 // bits of a slot per level
	width = 1 << step
)

// load fills an empty tree with n values, starting in slot 0.
func (t *tree[V]) load(n int, values iter.Seq[V]) {
	t.owner = new(owner)
	t.next = n
	var row []*node[V]
	var leaf *node[V]
	for v := range values {
		if leaf == nil || len(leaf.vals) == width {
			leaf = &node[V]{owner: t.owner, vals: make([]V, 0, min(n, width))}
			n -= width
			row = append(row, leaf)
		}
		leaf.has |= 1 << len(leaf.vals)
		leaf.vals = append(leaf.vals, v)
		leaf.count++
	}
	for len(row) > 1 {
		var above []*node[V]
		for kids := range slices.Chunk(row, width) {
			up := &node[V]{owner: t.owner, kids: slices.Clone(kids)}
			for _, kid := range kids {
				up.count += kid.count
			}
			above = append(above, up)
		}
		row = above
		t.level++
	}
	if len(row) > 0 {
		t.root = row[0]
	}
}

// len returns the number of values below a node, which may be nil.
func (n *node[V]) len() int {
	if n == nil {
		return 0
	}
	return n.count
}

// index returns the index of the child, or value, for slot in a node of level.
func index(slot, level int) int {
	return slot >> (step * level) & (width - 1)
}

func (t *tree[V]) get(slot int) (v V, ok bool) {
	if slot < 0 || slot >= t.next {
		return v, false
	}

	n := t.root
	for level := t.level; level > 0 && n != nil; level-- {
		n = n.kids[index(slot, level)] // not nil for slots below next
	}
	i := index(slot, 0)
	if n != nil && n.has&(1<<i) != 0 {
		return n.vals[i], true
	}
	return v, false
}

// nth returns the slot of the value after the given number of values. There must be such a value.
func (t *tree[V]) nth(before int) (slot int) {
	n := t.root
	for level := t.level; level > 0; level-- {
		i := 0
		for n.kids[i].len() <= before {
			before -= n.kids[i].len()
			i++
		}
		slot = (slot + i) << step
		n = n.kids[i]
	}
	has := n.has
	for ; before > 0; before-- {
		has &= has - 1
	}
	return slot + bits.TrailingZeros32(has)
}

func (t *tree[V]) set(slot int, v V) {
	for slot>>(step*(t.level+1)) > 0 {
		if t.root != nil {
			t.root = &node[V]{owner: t.owner, kids: []*node[V]{t.root}, count: t.root.count}
		}
		t.level++
	}
	if t.root == nil {
		t.root = &node[V]{owner: t.owner}
	}
	t.next = max(t.next, slot+1)
	t.root = t.root.set(t.owner, t.level, slot, v)
}

// own returns the node for o to change: n if o owns n, and otherwise a copy.
func (n *node[V]) own(o *owner) *node[V] {
	if n.owner == o {
		n.memo.Store(nil)
		return n
	}
	return &node[V]{
		owner: o,
		count: n.count,
		kids:  slices.Clone(n.kids),
		has:   n.has,
		vals:  slices.Clone(n.vals),
	}
}

func (n *node[V]) set(o *owner, level, slot int, v V) *node[V] {
	n = n.own(o)
	i := index(slot, level)
	if level == 0 {
		n.vals = grown(n.vals, i+1)
		n.vals[i] = v
		n.has |= 1 << i
		n.count = bits.OnesCount32(n.has)
		return n
	}
	n.kids = grown(n.kids, i+1)
	kid := n.kids[i]
	if kid == nil {
		kid = &node[V]{owner: o}
	}
	n.count -= kid.count
	n.kids[i] = kid.set(o, level-1, slot, v)
	n.count += n.kids[i].count
	return n
}

// grown returns list with zero values appended up to the length n, if it is shorter.
func grown[E any](list []E, n int) []E {
	if n <= len(list) {
		return list
	}
	return append(list, make([]E, n-len(list))...)
}

// delete removes the value in a slot, which must have a value. It returns nil for an empty node.
func (n *node[V]) delete(o *owner, level, slot int) *node[V] {
	if n.count == 1 {
		return nil
	}
	n = n.own(o)
	n.count--
	i := index(slot, level)
	if level > 0 {
		n.kids[i] = n.kids[i].delete(o, level-1, slot)
		return n
	}
	var none V
	n.vals[i] = none
	n.has &^= 1 << i
	return n
}

// walk calls yield for the values from the slot from on, in steps of 1 or -1, until yield
// returns false. It reports whether to continue. The first slot of n is start.
func (n *node[V]) walk(level, start, from, by int, yield func(slot int, v V) bool) bool {
	size := 1 << (step * level)
	end := max(len(n.kids), len(n.vals)) // a node has children or values
	i := max(0, from-start) / size
	if by < 0 {
		i = min(i, end-1)
	}
	for ; 0 <= i && i < end; i += by {
		if level == 0 {
			if n.has&(1<<i) != 0 && !yield(start+i, n.vals[i]) {
				return false
			}
			continue
		}
		kid := n.kids[i]
		if kid != nil && !kid.walk(level-1, start+i*size, from, by, yield) {
			return false
		}
	}
	return true
}

// blocks calls yield for the nodes of the level of, or for n if n is below that level.
func (n *node[V]) blocks(level, of int, yield func(*atomic.Pointer[any], iter.Seq[V]) bool) bool {
	if level <= of {
		return yield(&n.memo, func(yield func(V) bool) {
			n.walk(level, 0, 0, 1, func(_ int, v V) bool { return yield(v) })
		})
	}
	for _, kid := range n.kids {
		if kid != nil && !kid.blocks(level-1, of, yield) {
			return false
		}
	}
	return true
}

// kid returns a child, or nil.
func (n *node[V]) kid(i int) *node[V] {
	if i < len(n.kids) {
		return n.kids[i]
	}
	return nil
}

// raised returns a root of the tree at the given level, which is at least t.level. It returns
// nil if the tree is empty.
func (t *tree[V]) raised(level int) *node[V] {
	root := t.root
	for range level - t.level {
		if root != nil {
			root = &node[V]{kids: []*node[V]{root}}
		}
	}
	return root
}

// differing calls visit for each slot in which two nodes may differ. An empty node is nil.
func (n *node[V]) differing(m *node[V], visit func(a, b V)) {
	if n == m {
		return
	}
	if n == nil {
		n = new(node[V])
	}
	if m == nil {
		m = new(node[V])
	}
	for i := range max(len(n.kids), len(m.kids)) {
		n.kid(i).differing(m.kid(i), visit)
	}
	for has := n.has | m.has; has != 0; has &= has - 1 {
		var a, b V
		i := bits.TrailingZeros32(has)
		if n.has&(1<<i) != 0 {
			a = n.vals[i]
		}
		if m.has&(1<<i) != 0 {
			b = m.vals[i]
		}
		visit(a, b)
	}
}
