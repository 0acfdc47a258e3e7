package pickup

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// PatchDatabase changes the whole database by a JSON Patch (RFC 6902), as one
// transaction over any number of records and collections: the database is one
// JSON document, so /schedules/0 is the first schedule, whatever its id, and
// /schedules/- a new one behind the last.
//
// A record that is replaced or changed keeps its id; a new one gets its id as
// by Create, one that is removed takes with it what Delete would, and all are
// judged by the members that are touched. A collection that is added or
// replaced as a whole keeps the ids that it comes with. "$schema" cannot be
// changed. Errors are as Patch's, and ErrExists and ErrRefers are possible.
func (tx *Tx) PatchDatabase(patch jsontext.Value) error {
	ops, err := parsePatch(patch)
	if err != nil {
		return err
	}
	d := &databasePatch{tx: tx, root: &node{kind: '{'}, touched: make(map[*node]*touches)}
	for i := range ops {
		op := &ops[i]
		for member, path := range map[string][]string{"/path": op.path, "/from": op.from} {
			switch {
			case member == "/from" && op.op != "move" && op.op != "copy":
			case len(path) == 0:
				return refusePatch(fmt.Sprintf("/%d%s", i, member), "a patch of the database names a top-level member, as in /schedules/0")
			case path[0] == "$schema" && op.op != "test":
				return refusePatch(fmt.Sprintf("/%d%s", i, member), "which rules hold is said in the file, by hand")
			}
		}
		d.canonical(op.path)
		d.canonical(op.from)
	}
	for _, c := range tx.snap.list {
		d.enter(c, ops)
	}
	p := &patcher{root: d.root, note: d.note}
	d.patcher = p
	if err := p.apply(ops); err != nil {
		return err
	}
	return d.finish()
}

// A databasePatch is a patch of the whole database.
type databasePatch struct {
	tx      *Tx
	patcher *patcher
	root    *node
	touched map[*node]*touches // of a top-level member, or of an element of a collection
}

// canonical gives the members of records and objects that a path names the
// names that the schema has for them.
func (d *databasePatch) canonical(path []string) {
	if len(path) < 2 {
		return
	}
	below := path[1:]
	if c := d.tx.snap.byName[path[0]]; c != nil && c.kind == Array {
		below = path[2:]
	}
	d.tx.snap.schema.canonicalPath(path[0], below)
}

// enter makes a node of a top-level member, of its elements too if some
// operation names it.
func (d *databasePatch) enter(c *collection, ops []operation) {
	n := &node{origin: c, text: c.value}
	named := slices.ContainsFunc(ops, func(op operation) bool {
		return op.path[0] == c.name || len(op.from) > 0 && op.from[0] == c.name
	})
	if c.kind == Array {
		n.text, n.kind = nil, '['
		if named {
			elements := make([]node, 0, c.order.Len()) // at once, for there may be many
			n.kids = make([]*node, 0, c.order.Len())
			c.order.Scan(func(_ uint64, r *Record) bool {
				elements = append(elements, node{text: r.Value, origin: c, record: r})
				n.kids = append(n.kids, &elements[len(elements)-1])
				return true
			})
		}
	}
	d.root.names = append(d.root.names, appendName(nil, c.name))
	d.root.kids = append(d.root.kids, n)
}

// note remembers which top-level member, and which element of a collection, an
// operation touches.
func (d *databasePatch) note(i int, op *operation, path []string) {
	n, below := d.patcher.at(path[:1]), path[1:]
	if n == nil {
		return // it is added as a whole, and told again when it is there
	}
	d.touch(n, i, op, below)
	if n.kind != '[' || n.text != nil || len(below) == 0 {
		return
	}
	if at := n.find(below[0]); at >= 0 {
		d.touch(n.kids[at], i, op, below[1:])
	}
}

func (d *databasePatch) touch(n *node, i int, op *operation, below []string) {
	if d.touched[n] == nil {
		d.touched[n] = new(touches)
	}
	d.touched[n].add(i, op, below)
	if t := *d.touched[n]; len(below) == 0 {
		t[len(t)-1].moved = op.op == "move"
	}
}

// finish makes of the patched document changes of the database.
func (d *databasePatch) finish() error {
	tx := d.tx
	there := make(map[string]*node)
	var names []string
	for i, kid := range d.root.kids {
		name := text(d.root.names[i])
		there[name] = kid
		names = append(names, name)
	}
	var dropped []Change
	for _, c := range slices.Clone(tx.snap.list) {
		if there[c.name] == nil {
			dropped = append(dropped, c.drops()...)
			tx.snap.without(c.name)
			delete(tx.mine, c.name)
			tx.changes = append(tx.changes, Change{Collection: c.name})
		}
	}
	for _, name := range names {
		n := there[name]
		t := d.touched[n]
		if t == nil {
			continue
		}
		c := tx.snap.byName[name]
		var err error
		switch {
		case c == nil || n.origin != c || t.names() == nil:
			if c != nil {
				dropped = append(dropped, c.drops()...)
			}
			err = t.lead(tx.setWhole(name, n.value()))
		case c.kind == Array:
			dropped, err = d.records(c, n, dropped)
		case c.kind == Object:
			if v := n.value(); !bytes.Equal(v, c.value) {
				_, err = tx.amendObject(name, v, t.names())
				err = t.lead(err)
			}
		}
		if err != nil {
			return err
		}
	}
	return tx.release(slices.DeleteFunc(dropped, func(gone Change) bool {
		_, err := tx.snap.Get(gone.Collection, gone.ID)
		return err == nil // it was moved, or put back
	}))
}

// drops returns the changes that take all records out of a collection.
func (c *collection) drops() []Change {
	if c.kind != Array {
		return nil
	}
	drops := make([]Change, 0, c.order.Len())
	c.order.Scan(func(_ uint64, r *Record) bool {
		drops = append(drops, Change{Collection: c.name, ID: r.ID})
		return true
	})
	return drops
}

// records makes of a patched collection changes of its records, and adds those
// that are gone to dropped.
func (d *databasePatch) records(c *collection, n *node, dropped []Change) ([]Change, error) {
	tx := d.tx
	mark := len(tx.changes)
	kept, inOrder, last, fresh := 0, true, uint64(0), false
	for _, kid := range n.kids {
		r := kid.record
		// An element without an id of its own becomes a record when it changes.
		if r == nil || kid.origin != c || IsPositionKey(r.ID) && !bytes.Equal(kid.value(), r.Value) {
			kid.record, fresh = nil, true
			continue
		}
		inOrder = inOrder && !fresh && r.seq >= last
		last = r.seq
		kept++
	}
	if kept < c.order.Len() {
		left := make(map[*Record]bool, kept)
		for _, kid := range n.kids {
			left[kid.record] = true
		}
		for _, gone := range c.drops() {
			if r, _ := c.byID.Get(gone.ID); left[r] {
				continue
			}
			if IsPositionKey(gone.ID) {
				inOrder = false
				continue
			}
			if _, err := tx.drop(c.name, gone.ID); err != nil {
				return dropped, err
			}
			dropped = append(dropped, gone)
		}
	}
	if err := d.amend(c.name, n); err != nil {
		return dropped, err
	}
	for _, kid := range n.kids {
		if kid.record != nil {
			continue
		}
		t, v := d.touched[kid], kid.value()
		if v.Kind() != '{' {
			return dropped, t.lead(refusePatch("", "a record is a JSON object, not "+kindName(v)))
		}
		r, err := tx.Create(c.name, v)
		if err != nil {
			return dropped, t.lead(err)
		}
		*kid = node{text: r.Value}
	}
	if inOrder {
		return dropped, nil
	}
	// The order of records, and those without an id of their own, can only be
	// told by the whole.
	whole := Change{Collection: c.name, Value: n.value()}
	tx.changes = append(tx.changes[:mark], whole)
	return dropped, tx.apply(whole)
}

// amend puts what the patch has made of records in their places. Whether values
// that have to be unique are so is asked when all are there.
func (d *databasePatch) amend(collection string, n *node) error {
	tx := d.tx
	for _, kid := range n.kids {
		t := d.touched[kid]
		if t == nil || kid.record == nil {
			continue
		}
		r, err := tx.amend(collection, kid.record, kid.value(), t.names(), false)
		if err != nil {
			return t.lead(err)
		}
		*kid = node{text: r.Value, record: r}
	}
	c := tx.snap.byName[collection]
	for _, kid := range n.kids {
		if t := d.touched[kid]; t != nil && kid.record != nil {
			if err := verdict(nil, tx.taken(c, kid.text, kid.record.ID, t.names()), nil); err != nil {
				return t.lead(err)
			}
		}
	}
	return nil
}

// setWhole puts a value in the place of a top-level member, or behind the last
// one. Of an array every element that was not there before is judged as a
// whole, and those without an id get one. Pointers lead into the value.
func (tx *Tx) setWhole(name string, value jsontext.Value) error {
	if depth(value) > maxDepth+1 {
		return refusePatch("", fmt.Sprintf("this would leave records that are nested deeper than %d levels", maxDepth))
	}
	switch value.Kind() {
	case '[':
		return tx.setArray(name, value)
	case '{':
		value, sent, faults := tx.snap.schema.canonical(name, value)
		faults = append(faults, tx.snap.schema.checkObject(name, nil, value, nil)...)
		if err := verdict(faults, nil, sent); err != nil {
			return err
		}
		tx.put(&collection{name: name, kind: Object, value: value}, value)
		return nil
	}
	tx.put(&collection{name: name, kind: Other, value: value}, value)
	return nil
}

func (tx *Tx) setArray(name string, value jsontext.Value) error {
	old := tx.snap.byName[name]
	idMember := tx.snap.idMember(name)
	c := newArray(name, 0, census{member: idMember})
	before := tx.snap.gone[name]
	if old != nil {
		before = old.ids
	}
	c.ids.high, c.ids.number = before.high, before.number
	n := &node{text: value}
	n.open()
	for _, kid := range n.kids { // so that no id is made that one of them has
		if id, ok := ID(kid.text, idMember); ok && digits(id) {
			c.ids.high = later(c.ids.high, id)
		}
	}
	var unique []func() error // asked when all elements are there
	for i, kid := range n.kids {
		at := fmt.Sprintf("/%d", i)
		if kid.text.Kind() != '{' {
			return refusePatch(at, "a record is a JSON object, not "+kindName(kid.text))
		}
		v, sent, faults := tx.snap.schema.canonical(name, kid.text)
		var taken []Fault
		id, ok := ID(v, idMember)
		if !ok {
			v = withMember(v, idMember, c.ids.next(tx.snap.idKind(name), c.has))
			id, _ = ID(v, idMember)
		} else if c.has(id) {
			taken = append(taken, Fault{pointer(idMember), fmt.Sprintf("the id %s is taken", shorten(id))})
		}
		judge := func(faults, taken []Fault) error {
			err := verdict(faults, taken, sent)
			if f, ok := err.(*FaultError); ok {
				f.Faults = under(at, f.Faults)
			}
			return err
		}
		if !holds(old, id, v) {
			faults = append(faults, tx.snap.schema.checkReplace(name, v)...)
			unique = append(unique, func() error { return judge(nil, tx.taken(c, v, id, nil)) })
		}
		if err := judge(faults, taken); err != nil {
			return err
		}
		c.set(id, v)
	}
	for _, ask := range unique {
		if err := ask(); err != nil {
			return err
		}
	}
	tx.put(c, c.appendJSON(nil))
	return nil
}

// holds reports whether a collection has that value under that id.
func holds(c *collection, id string, value jsontext.Value) bool {
	if c == nil || c.kind != Array {
		return false
	}
	r, ok := c.byID.Get(id)
	return ok && bytes.Equal(r.Value, value)
}
