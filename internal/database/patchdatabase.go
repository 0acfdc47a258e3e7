package database

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/jsonpatch"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// PatchDatabase changes the whole database by a JSON Patch (RFC 6902), as one
// transaction over any number of records and collections. The database is one
// JSON document: /schedules/0 is the first schedule, whatever its id, and
// /schedules/- a new one at the end.
//
// A record that is replaced or changed keeps its id and is checked by the members
// that are touched. A new one gets its id as from Create. With one that is removed
// go those that Delete would remove. A collection that is added or replaced as a
// whole keeps its ids. "$schema" cannot be changed. Errors are those of Patch, and
// FaultErrors that wrap ErrExists or ErrRefers.
func (tx *Tx) PatchDatabase(patch jsontext.Value) error {
	ops, err := jsonpatch.Parse(patch)
	if err != nil {
		return patchFault(err)
	}
	d := &databasePatch{tx: tx, root: jsonpatch.NewObject(), touched: make(map[*jsonpatch.Node]*touches)}
	for i := range ops {
		op := &ops[i]
		for member, path := range map[string][]string{"/path": op.Path, "/from": op.From} {
			switch {
			case member == "/from" && op.Op != "move" && op.Op != "copy":
			case len(path) == 0:
				return refusePatch(fmt.Sprintf("/%d%s", i, member), "a patch of the database names a top-level member, as in /schedules/0")
			case path[0] == "$schema" && op.Op != "test":
				return refusePatch(fmt.Sprintf("/%d%s", i, member), "the schema of a database is set in its file")
			}
		}
		d.canonical(op.Path)
		d.canonical(op.From)
	}
	for _, c := range tx.snap.list {
		d.enter(c, ops)
	}
	p := &jsonpatch.Patcher{Root: d.root, Note: d.note}
	d.patcher = p
	if err := p.Apply(ops); err != nil {
		return patchFault(err)
	}
	tx.claim = d.claim
	defer func() { tx.claim, tx.rebase = nil, nil }()
	if err := d.finish(); err != nil {
		return err
	}
	for _, check := range d.claims {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// A databasePatch is a patch of the whole database.
type databasePatch struct {
	tx      *Tx
	patcher *jsonpatch.Patcher
	root    *jsonpatch.Node
	touched map[*jsonpatch.Node]*touches // of a top-level member, or of an element of a collection
	rebase  func(error) error            // rewrites faults of the current record to point into the patch
	claims  []func() error               // checks at the end
}

// recordOf returns the record that an element of a collection was when the patch began,
// or nil.
func recordOf(n *jsonpatch.Node) *Record {
	r, _ := n.Origin.(*Record)
	return r
}

// claim defers the check for taken values to the end of the patch: two records
// may exchange theirs.
func (d *databasePatch) claim(collection, id string, names []string, sent map[string]string) {
	rebase := d.rebase
	d.claims = append(d.claims, func() error {
		r, err := d.tx.snap.Get(collection, id)
		if err != nil {
			return nil // deleted with another record
		}
		return rebase(faultError(nil, d.tx.uniqueConflicts(d.tx.snap.byName[collection], r.Value, id, names), sent))
	})
}

// canonical replaces aliases of members in a path by their names in the schema.
func (d *databasePatch) canonical(path []string) {
	if len(path) < 2 {
		return
	}
	below := path[1:]
	if d.tx.snap.byName[path[0]].isArray() {
		below = path[2:]
	}
	d.tx.snap.schema.Member(path[0]).CanonicalPath(below)
}

// enter adds a node for a top-level member, and nodes for its elements if an
// operation names it.
func (d *databasePatch) enter(c *collection, ops []jsonpatch.Operation) {
	n := jsonpatch.NewNode(c.value)
	named := slices.ContainsFunc(ops, func(op jsonpatch.Operation) bool {
		return op.Path[0] == c.name || len(op.From) > 0 && op.From[0] == c.name
	})
	if c.kind == storage.Array {
		var kids []*jsonpatch.Node
		if named {
			kids = make([]*jsonpatch.Node, 0, c.records.Len())
			for _, r := range c.records.All() {
				kid := jsonpatch.NewNode(r.Value)
				kid.Origin = r
				kids = append(kids, kid)
			}
		}
		n = jsonpatch.NewArray(kids)
	}
	n.Origin = c
	d.root.Append(c.name, n)
}

// note records which top-level member, and which element of a collection, an
// operation touches.
func (d *databasePatch) note(i int, op *jsonpatch.Operation, path []string) {
	n, below := d.patcher.At(path[:1]), path[1:]
	if n == nil {
		return // it is added as a whole; the patcher reports it again when it is there
	}
	d.touch(n, i, op, below)
	if !n.IsOpenArray() || len(below) == 0 {
		return
	}
	if at := n.Find(below[0]); at >= 0 {
		d.touch(n.Kids[at], i, op, below[1:])
	}
}

func (d *databasePatch) touch(n *jsonpatch.Node, i int, op *jsonpatch.Operation, below []string) {
	if d.touched[n] == nil {
		d.touched[n] = new(touches)
	}
	d.touched[n].add(i, op, below)
}

// finish changes the database to what the patch has made of the document.
func (d *databasePatch) finish() error {
	tx := d.tx
	there := make(map[string]bool)
	for i := range d.root.Kids {
		there[d.root.Name(i)] = true
	}
	var dropped []element
	for _, c := range slices.Clone(tx.snap.list) {
		if !there[c.name] {
			dropped = append(dropped, c.elements()...)
			tx.snap.without(c.name)
			delete(tx.mine, c.name)
			tx.changes = append(tx.changes, Change{Collection: c.name})
		}
	}
	for i, n := range d.root.Kids {
		name, t := d.root.Name(i), d.touched[n]
		if t == nil {
			continue
		}
		c := tx.snap.byName[name]
		var err error
		switch {
		case c == nil || n.Origin != c || t.names() == nil:
			if c != nil {
				dropped = append(dropped, c.elements()...)
			}
			err = d.setWhole(name, n.Value(), t)
		case c.kind == storage.Array:
			dropped, err = d.records(c, n, dropped)
		case c.kind == storage.Object:
			tx.rebase = t.rebase
			_, err = tx.amend(name, &Record{Value: c.value}, n.Value(), t.names())
			err = t.rebase(err)
		}
		if err != nil {
			return err
		}
	}
	return tx.cascade(slices.DeleteFunc(dropped, func(gone element) bool {
		_, err := tx.snap.Get(gone.collection, gone.id)
		return err == nil // it was moved, or put back
	}))
}

// elements returns all elements of a collection.
func (c *collection) elements() (all []element) {
	for _, r := range c.inOrder() {
		all = append(all, element{c.name, r.ID})
	}
	return all
}

// records changes the records of a collection to what the patch has left of them,
// and appends those that it has removed to dropped.
func (d *databasePatch) records(c *collection, n *jsonpatch.Node, dropped []element) ([]element, error) {
	gone, separate := missing(c, n.Kids)
	dropped = append(dropped, gone...)
	if !separate {
		return dropped, d.rebuild(c.name, n.Kids, nil)
	}
	for _, g := range gone {
		if _, err := d.tx.remove(g.collection, g.id); err != nil {
			return dropped, err
		}
	}
	for _, kid := range n.Kids {
		t := d.touched[kid]
		if t == nil {
			continue
		}
		d.rebase, d.tx.rebase = t.rebase, t.rebase
		var err error
		if r := recordOf(kid); r != nil {
			_, err = d.tx.amend(c.name, r, kid.Value(), t.within())
		} else if v := kid.Value(); v.Kind() != '{' {
			err = refusePatch("", "a record is a JSON object, not "+rawjson.KindName(v))
		} else {
			_, err = d.tx.Put(Create, c.name, "", v)
		}
		if err != nil {
			return dropped, t.rebase(err)
		}
	}
	return dropped, nil
}

// missing returns the records of c that are not among kids,
// and clears the origin of kids from elsewhere. separate reports whether changes of
// single records can express all differences: not a new order, nor a change of an
// element without an id of its own.
func missing(c *collection, kids []*jsonpatch.Node) (gone []element, separate bool) {
	separate = true
	kept, last, fresh := 0, uint64(0), false
	for _, kid := range kids {
		r := recordOf(kid)
		if r == nil || !c.holds(r) {
			kid.Origin, fresh = nil, true
			continue
		}
		kept++
		unchanged := !storage.IsPositionKey(r.ID) || bytes.Equal(kid.Value(), r.Value)
		separate = separate && !fresh && r.seq >= last && unchanged
		last = r.seq
	}
	if kept == c.records.Len() {
		return nil, separate
	}
	left := make(map[*Record]bool, kept)
	for _, kid := range kids {
		left[recordOf(kid)] = true
	}
	for _, r := range c.records.All() {
		if !left[r] {
			separate = separate && !storage.IsPositionKey(r.ID)
			gone = append(gone, element{c.name, r.ID})
		}
	}
	return gone, separate
}

// setWhole makes value, which t has put there, the top-level member of that name.
func (d *databasePatch) setWhole(name string, value jsontext.Value, t *touches) error {
	rules := d.tx.snap.schema.Member(name)
	if rawjson.Depth(value) > rawjson.MaxDepth+1 {
		return t.rebase(refusePatch("", fmt.Sprintf("this would leave records that are nested deeper than %d levels", rawjson.MaxDepth)))
	}
	if err := faultError(rules.CheckType(value), nil, nil); err != nil {
		return t.rebase(err)
	}
	c := &collection{name: name, kind: storage.Other, value: value}
	switch value.Kind() {
	case '[':
		n := jsonpatch.NewNode(value)
		n.Open()
		return d.rebuild(name, n.Kids, t)
	case '{':
		value, sent, faults := rules.Canonical(value)
		var before jsontext.Value
		if old, err := d.tx.target(name, ""); err == nil {
			before = old.Value
		}
		value = d.tx.stamp(name, before, value)
		faults = append(faults, rules.CheckObject(before, value, nil)...)
		if err := faultError(faults, nil, sent); err != nil {
			return t.rebase(err)
		}
		c.kind, c.value = storage.Object, value
		d.tx.rebase = t.rebase
		d.tx.refer(element{name, ""}, before, sent)
	}
	d.tx.put(c, "")
	return nil
}

// rebuild makes a collection of the elements that a patch has left and added. If
// whole is not nil, it has put them there together.
func (d *databasePatch) rebuild(name string, kids []*jsonpatch.Node, whole *touches) error {
	snap := d.tx.snap
	idMember, stats := snap.IDMember(name), snap.idsOf(name)
	c := newArray(name, 0, idStats{member: idMember, high: stats.high})
	like := idStats{member: idMember} // the ids that the elements have
	keys := storage.NewKeys(idMember)
	kept := func(kid *jsonpatch.Node) bool {
		r := recordOf(kid)
		return r != nil && (d.touched[kid] == nil || bytes.Equal(kid.Value(), r.Value))
	}
	reserved := make(map[string]bool) // ids of records that the patch has left
	for _, kid := range kids {
		id, ok := storage.ID(kid.Value(), idMember)
		if ok {
			like.count(&Record{ID: id, Value: kid.Value()}, 1)
		}
		if r := recordOf(kid); r != nil && !storage.IsPositionKey(r.ID) {
			reserved[r.ID] = true
		} else if ok && kept(kid) {
			reserved[id] = true
		}
	}
	c.ids.inherit(like)
	for i, kid := range kids {
		v := kid.Value()
		if !kept(kid) {
			d.rebase = func(err error) error {
				f, ok := err.(*FaultError)
				switch {
				case whole == nil:
					return d.touched[kid].rebase(err)
				case ok:
					err = &FaultError{Kind: f.Kind, Faults: under(fmt.Sprintf("/%d", i), f.Faults)}
				}
				return whole.rebase(err)
			}
			d.tx.rebase = d.rebase
			var err error
			if v, err = d.element(c, like, kid, reserved, whole != nil); err != nil {
				return d.rebase(err)
			}
		}
		c.set(keys.Next(v), v)
	}
	d.tx.put(c, "")
	return nil
}

// element returns the value of an element that a patch has changed or added, for
// the collection c, and checks it. A record keeps its id. An added element gets one
// like those of like if it has none, or if the schema makes ids read-only; those of a
// whole array keep theirs, and one that equals the record with its id is not checked.
func (d *databasePatch) element(c *collection, like idStats, kid *jsonpatch.Node, reserved map[string]bool, whole bool) (jsontext.Value, error) {
	tx, rules := d.tx, d.tx.snap.schema.Member(c.name)
	v, sent, faults, err := tx.amended(c.name, kid.Value())
	if err != nil {
		return nil, err
	}
	var id string
	var taken []schema.Fault
	old := recordOf(kid)
	if old != nil && !storage.IsPositionKey(old.ID) {
		if v, err = keepID(old, v, c.ids.member); err != nil {
			return nil, idChanged(c.ids.member)
		}
		id = old.ID
	} else {
		var invalid []schema.Fault
		v, id, invalid, taken = tx.withID(c, like, v, old == nil && !whole && rules.ReadOnlyID(), func(id string) bool { return c.has(id) || reserved[id] })
		faults = append(faults, invalid...)
	}
	var names []string
	if whole {
		old, _ = tx.snap.Get(c.name, id)
	} else if old != nil {
		names = d.touched[kid].within()
	}
	var before jsontext.Value
	if old != nil {
		before = old.Value
	}
	v = tx.stamp(c.name, before, v)
	switch {
	case old == nil:
		faults = append(faults, rules.CheckCreate(v)...)
	case names != nil:
		faults = append(faults, rules.CheckMerge(before, v, names)...)
	case !whole || !bytes.Equal(before, v):
		faults = append(faults, rules.CheckReplace(before, v)...)
	}
	if !whole || !bytes.Equal(before, v) {
		tx.refer(element{c.name, id}, before, sent)
		taken = append(taken, tx.taken(c, v, id, names, sent)...)
	}
	return v, faultError(faults, taken, sent)
}
