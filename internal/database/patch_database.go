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
				return refusePatch(fmt.Sprintf("/%d%s", i, member), "which rules hold is said in the file, by hand")
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
	tx.claim, d.rebase = d.claim, func(err error) error { return err }
	defer func() { tx.claim = nil }()
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
	rebase  func(error) error            // rewrites faults of the record at hand to point into the patch
	claims  []func() error
}

// An origin says what a node of the database was when the patch began: a
// top-level member, or an element of a collection.
type origin struct {
	collection *collection
	record     *Record // nil of a top-level member
}

func originOf(n *jsonpatch.Node) origin {
	if o, ok := n.Origin.(*origin); ok {
		return *o
	}
	return origin{}
}

// claim remembers to look whether values are taken when all is done: two
// records may change theirs for each other's.
func (d *databasePatch) claim(collection, id string, names []string, sent map[string]string) {
	rebase := d.rebase
	d.claims = append(d.claims, func() error {
		c := d.tx.snap.byName[collection]
		r := recordByID(c, id)
		if r == nil {
			return nil // gone with another one
		}
		if err := faultError(nil, d.tx.uniqueConflicts(c, r.Value, id, names), sent); err != nil {
			return rebase(err)
		}
		return nil
	})
}

// canonical gives the members of records and objects that a path names the
// names that the schema has for them.
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

// enter makes a node of a top-level member, of its elements too if some
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
			origins := make([]origin, 0, c.records.Len()) // at once, for there may be many
			for _, r := range c.records.All() {
				origins = append(origins, origin{c, r})
				kid := jsonpatch.NewNode(r.Value)
				kid.Origin = &origins[len(origins)-1]
				kids = append(kids, kid)
			}
		}
		n = jsonpatch.NewArray(kids)
	}
	n.Origin = &origin{collection: c}
	d.root.Append(c.name, n)
}

// note remembers which top-level member, and which element of a collection, an
// operation touches.
func (d *databasePatch) note(i int, op *jsonpatch.Operation, path []string) {
	n, below := d.patcher.At(path[:1]), path[1:]
	if n == nil {
		return // it is added as a whole, and told again when it is there
	}
	d.touch(n, i, op, below)
	if !n.IsOpenArray() || len(below) == 0 {
		return
	}
	if at := n.Find(below[0]); at >= 0 {
		d.touch(n.Kids()[at], i, op, below[1:])
	}
}

func (d *databasePatch) touch(n *jsonpatch.Node, i int, op *jsonpatch.Operation, below []string) {
	if d.touched[n] == nil {
		d.touched[n] = new(touches)
	}
	d.touched[n].add(i, op, below)
}

// finish makes of the patched document changes of the database.
func (d *databasePatch) finish() error {
	tx := d.tx
	there := make(map[string]*jsonpatch.Node)
	var names []string
	for i, kid := range d.root.Kids() {
		name := d.root.Name(i)
		there[name] = kid
		names = append(names, name)
	}
	var dropped []storage.Change
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
		case c == nil || originOf(n).collection != c || t.names() == nil:
			if c != nil {
				dropped = append(dropped, c.drops()...)
			}
			err = t.rebase(d.setWhole(name, n.Value(), t))
		case c.kind == storage.Array:
			dropped, err = d.records(c, n, dropped)
		case c.kind == storage.Object:
			if v := n.Value(); !bytes.Equal(v, c.value) {
				_, err = tx.amendObject(name, v, t.names())
				err = t.rebase(err)
			}
		}
		if err != nil {
			return err
		}
	}
	return tx.cascade(slices.DeleteFunc(dropped, func(gone storage.Change) bool {
		_, err := tx.snap.Get(gone.Collection, gone.ID)
		return err == nil // it was moved, or put back
	}))
}

// drops returns the changes that take all records out of a collection.
func (c *collection) drops() []storage.Change {
	records := c.inOrder()
	drops := make([]storage.Change, len(records))
	for i, r := range records {
		drops[i] = storage.Change{Collection: c.name, ID: r.ID}
	}
	return drops
}

// records turns what is left of a patched collection into changes of its
// records, and appends those that are gone to dropped.
func (d *databasePatch) records(c *collection, n *jsonpatch.Node, dropped []storage.Change) ([]storage.Change, error) {
	gone, separate := missing(c, n.Kids())
	dropped = append(dropped, gone...)
	if !separate {
		return dropped, d.rearrange(c, n.Kids())
	}
	for _, g := range gone {
		if _, err := d.tx.remove(c.name, g.ID); err != nil {
			return dropped, err
		}
	}
	for _, kid := range n.Kids() {
		t := d.touched[kid]
		if t == nil {
			continue
		}
		d.rebase = t.rebase
		var err error
		if r := originOf(kid).record; r != nil {
			_, err = d.tx.amend(c.name, r, kid.Value(), t.within())
		} else if v := kid.Value(); v.Kind() != '{' {
			err = refusePatch("", "a record is a JSON object, not "+rawjson.KindName(v))
		} else {
			_, err = d.tx.Create(c.name, v)
		}
		if err != nil {
			return dropped, t.rebase(err)
		}
	}
	return dropped, nil
}

// missing returns the deletes of the records of c that are not among kids, and
// clears the origin of kids from elsewhere. separate reports whether changes of
// single records express all that differs: not a new order of the others, nor a
// change of an element without an id of its own.
func missing(c *collection, kids []*jsonpatch.Node) (gone []storage.Change, separate bool) {
	separate = true
	kept, last, fresh := 0, uint64(0), false
	for _, kid := range kids {
		o := originOf(kid)
		if o.record == nil || o.collection != c {
			kid.Origin, fresh = nil, true
			continue
		}
		r := o.record
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
		left[originOf(kid).record] = true
	}
	for _, r := range c.records.All() {
		if !left[r] {
			separate = separate && !storage.IsPositionKey(r.ID)
			gone = append(gone, storage.Change{Collection: c.name, ID: r.ID})
		}
	}
	return gone, separate
}

// setWhole puts a value in the place of a top-level member, or behind the last
// one. Of an array every element that was not there before is judged as a
// whole, and those without an id get one. Pointers lead into the value, which t
// has put there.
func (d *databasePatch) setWhole(name string, value jsontext.Value, t *touches) error {
	tx := d.tx
	if rawjson.Depth(value) > rawjson.MaxDepth+1 {
		return refusePatch("", fmt.Sprintf("this would leave records that are nested deeper than %d levels", rawjson.MaxDepth))
	}
	kind := value.Kind()
	if err := faultError(tx.snap.schema.Member(name).CheckType(value), nil, nil); err != nil {
		return err
	}
	switch kind {
	case '[':
		n := jsonpatch.NewNode(value)
		n.Open()
		return d.setArray(name, n.Kids(), t)
	case '{':
		value, sent, faults := tx.snap.schema.Member(name).Canonical(value)
		faults = append(faults, tx.snap.schema.Member(name).CheckObject(nil, value, nil)...)
		if err := faultError(faults, nil, sent); err != nil {
			return err
		}
		tx.put(&collection{name: name, kind: storage.Object, value: value}, value)
		return nil
	}
	tx.put(&collection{name: name, kind: storage.Other, value: value}, value)
	return nil
}

// setArray makes an array of elements that come with their ids.
func (d *databasePatch) setArray(name string, kids []*jsonpatch.Node, t *touches) error {
	snap := d.tx.snap
	old := snap.byName[name]
	a := d.arrange(name, kids)
	a.whole = true
	for i, kid := range kids {
		at := fmt.Sprintf("/%d", i)
		below := func(err error) error {
			f, ok := err.(*FaultError)
			if !ok {
				return err
			}
			return &FaultError{Kind: f.Kind, Faults: under(at, f.Faults)}
		}
		d.rebase = func(err error) error { return t.rebase(below(err)) }
		err := a.add(kid.Value(), nil, nil, func(id string, v jsontext.Value) (faults []schema.Fault, judged bool) {
			switch r := recordByID(old, id); {
			case r == nil:
				return snap.schema.Member(name).CheckCreate(v), true
			case !bytes.Equal(r.Value, v):
				return snap.schema.Member(name).CheckReplace(v), true
			}
			return nil, false
		})
		if err != nil {
			return below(err)
		}
	}
	d.tx.put(a.c, a.c.appendJSON(nil))
	return nil
}

// recordByID returns the record of a collection that has that id, nil where there is
// none.
func recordByID(c *collection, id string) *Record {
	if !c.isArray() {
		return nil
	}
	r, _ := c.get(id)
	return r
}

// rearrange makes an array of the elements that a patch has left of c, and of
// those that it has put between them.
func (d *databasePatch) rearrange(c *collection, kids []*jsonpatch.Node) error {
	rules := d.tx.snap.schema.Member(c.name)
	a := d.arrange(c.name, kids)
	kept := func(kid *jsonpatch.Node) bool {
		r := originOf(kid).record
		return r != nil && (d.touched[kid] == nil || bytes.Equal(kid.Value(), r.Value))
	}
	for _, kid := range kids {
		if r := originOf(kid).record; r != nil && !storage.IsPositionKey(r.ID) {
			a.taken[r.ID] = true
		} else if id, ok := storage.ID(kid.Value(), c.ids.member); ok && kept(kid) {
			a.taken[id] = true
		}
	}
	for _, kid := range kids {
		r, t, v := originOf(kid).record, d.touched[kid], kid.Value()
		if kept(kid) {
			a.keep(v)
			continue
		}
		d.rebase = t.rebase
		var names []string
		if r != nil {
			names = t.within()
		}
		err := a.add(v, r, names, func(_ string, v jsontext.Value) ([]schema.Fault, bool) {
			switch {
			case r == nil:
				return rules.CheckCreate(v), true
			case names == nil:
				return rules.CheckReplace(v), true
			}
			return rules.CheckMerge(r.Value, v, names), true
		})
		if err != nil {
			return t.rebase(err)
		}
	}
	d.tx.put(a.c, a.c.appendJSON(nil))
	return nil
}

// An arrangement is a collection that is being made anew.
type arrangement struct {
	d     *databasePatch
	c     *collection
	keys  *storage.Keys
	taken map[string]bool // the ids of records that it keeps
	whole bool            // the elements come with their ids
}

// arrange begins the arrangement of these elements.
func (d *databasePatch) arrange(name string, kids []*jsonpatch.Node) *arrangement {
	snap := d.tx.snap
	idMember := snap.idMember(name)
	a := &arrangement{d: d, c: newArray(name, 0, idStats{member: idMember}), keys: storage.NewKeys(idMember), taken: make(map[string]bool)}
	before := snap.idsOf(name)
	a.c.ids.high, a.c.ids.number = before.high, before.number
	for _, kid := range kids { // so that no id is made that one of them has
		if id, ok := storage.ID(kid.Value(), idMember); ok && rawjson.IsIndex(id) {
			a.c.ids.high = later(a.c.ids.high, id)
		}
	}
	return a
}

// keep puts an element behind the others as it is.
func (a *arrangement) keep(v jsontext.Value) { a.c.set(a.keys.Next(v), v) }

// add puts a record behind the others if judge finds nothing wrong with it,
// and reports that it has looked. The record was old, of which the members
// called names were sent, or all where names is nil; where old is nil it is
// new. It keeps its id, and gets one if it has none, or if it is put between
// others where the service alone makes them.
func (a *arrangement) add(v jsontext.Value, old *Record, names []string, judge func(id string, v jsontext.Value) ([]schema.Fault, bool)) error {
	tx, name := a.d.tx, a.c.name
	v, sent, faults, err := tx.amended(name, v)
	if err != nil {
		return err
	}
	idMember := a.c.ids.member
	addressed := old != nil && !storage.IsPositionKey(old.ID)
	if addressed {
		if v, err = keepID(old, v, idMember); err != nil {
			return idChanged(idMember)
		}
	}
	var taken []schema.Fault
	has := func(id string) bool { return a.c.has(id) || a.taken[id] }
	given, ok := rawjson.Member(v, idMember)
	made := !ok || given.Kind() == 'n' || string(given) == `""` || old == nil && !a.whole && tx.snap.schema.Member(name).ReadOnlyID()
	if made {
		v = rawjson.SetMember(v, idMember, a.c.ids.next(tx.snap.newIDs(name), has))
	}
	id, ok := storage.ID(v, idMember)
	switch {
	case !ok:
		faults = append(faults, noID(idMember))
	case !addressed && has(id):
		taken = append(taken, idTaken(idMember, given))
	}
	found, judged := judge(id, v)
	if judged {
		taken = append(taken, tx.taken(a.c, v, id, names, sent)...)
	}
	if err := faultError(append(faults, found...), taken, sent); err != nil {
		return err
	}
	a.keep(v)
	return nil
}
