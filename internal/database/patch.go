package database

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/jsonpatch"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// Patch applies a JSON Patch (RFC 6902) to a record or, if id is empty, a singular
// resource: all operations, or none. Only the fields that the patch touches are
// checked. The error wraps ErrNotFound or is a *FaultError with pointers into the
// patch. That wraps ErrShape if the patch is malformed, or would leave another id or
// something that is not an object; ErrMismatch if a test fails or a path leads
// nowhere; otherwise see Put.
func (tx *Tx) Patch(name, id string, patch jsontext.Value) (*Record, error) {
	old, err := tx.target(name, id)
	if err != nil {
		return nil, err
	}
	value, t, err := tx.patched(name, old.Value, patch)
	if err != nil {
		return nil, err
	}
	tx.translate = t.place
	defer func() { tx.translate = nil }()
	r, err := tx.amend(name, old, value, t.names())
	return r, placed(err, t.place)
}

// patched returns the result of a patch of a record or object, and what it touches.
func (tx *Tx) patched(name string, old, patch jsontext.Value) (jsontext.Value, touches, error) {
	ops, err := jsonpatch.Parse(patch)
	if err != nil {
		return nil, nil, patchFault(err)
	}
	for _, op := range ops {
		tx.snap.schema.Member(name).CanonicalPath(op.Path)
		tx.snap.schema.Member(name).CanonicalPath(op.From)
	}
	var t touches
	p := &jsonpatch.Patcher{Root: &jsonpatch.Node{Text: old}, Note: func(i int, op *jsonpatch.Operation, path []string) { t.add(i, op, path) }}
	if err := p.Apply(ops); err != nil {
		return nil, nil, patchFault(err)
	}
	return p.Root.Value(), t, nil
}

// amend replaces a record or singular resource by the result of a patch.
func (tx *Tx) amend(name string, old *Record, value jsontext.Value, names []string) (*Record, error) {
	if bytes.Equal(old.Value, value) {
		return old, nil
	}
	value, sent, faults, err := tx.amended(name, value)
	if err != nil {
		return nil, err
	}
	idMember := tx.snap.IDMember(name)
	if _, has := rawjson.Member(value, idMember); old.ID != "" && !has && slices.Contains(names, idMember) {
		return nil, idChanged(idMember) // removed, rather than left out of a whole record
	}
	if value, err = keepID(old, value, idMember); err != nil {
		return nil, idChanged(idMember)
	}
	return tx.validateAndSet(name, old, value, names, sent, faults)
}

// amended is read for the result of a patch.
func (tx *Tx) amended(name string, value jsontext.Value) (_ jsontext.Value, sent map[string]string, faults []schema.Fault, err error) {
	if value.Kind() != '{' {
		return nil, nil, nil, refusePatch("", "a record is a JSON object; this would leave "+rawjson.KindName(value))
	}
	if rawjson.Depth(value) > rawjson.MaxDepth {
		detail := fmt.Sprintf("this would leave a record that is nested deeper than %d levels", rawjson.MaxDepth)
		return nil, nil, nil, refusePatch("", detail)
	}
	value, sent, faults = tx.snap.schema.Member(name).Canonical(value)
	return value, sent, faults, nil
}

// touches are the values of a record that the operations of a patch change, in their order.
type touches []touch

type touch struct {
	op      int
	pointer string // from the record
	value   bool   // the operation has a value for it
}

func (t *touches) add(i int, op *jsonpatch.Operation, path []string) {
	*t = append(*t, touch{i, rawjson.Pointer(path...), op.Op == "add" || op.Op == "replace"})
}

// names returns the touched fields, or nil if the whole record was replaced.
func (t touches) names() []string {
	names := []string{}
	for _, touch := range t {
		path := rawjson.SplitPointer(touch.pointer)
		if len(path) == 0 {
			return nil
		}
		names = append(names, path[0])
	}
	return names
}

// within is names for an element of a collection, ignoring that a patch moved it.
func (t touches) within() []string {
	return slices.DeleteFunc(slices.Clone(t), func(t touch) bool { return t.pointer == "" && !t.value }).names()
}

// place moves a fault from the record into the patch: to the last operation that touched
// the value.
func (t touches) place(f schema.Fault) schema.Fault {
	f.Member = cmp.Or(f.Member, f.Pointer)
	f.Pointer = t.pointer(f.Pointer)
	return f
}

func (t touches) pointer(at string) string {
	for i := len(t) - 1; i >= 0; i-- {
		below, ok := strings.CutPrefix(at, t[i].pointer)
		inside := ok && (below == "" || below[0] == '/')
		if inside && t[i].value {
			return fmt.Sprintf("/%d/value%s", t[i].op, below)
		}
		if inside || strings.HasPrefix(t[i].pointer, at+"/") {
			return fmt.Sprintf("/%d", t[i].op)
		}
	}
	return ""
}

// PatchDatabase changes the whole database by a JSON Patch (RFC 6902), as one
// transaction over any number of records and collections. The database is one
// JSON document: /schedules/0 is the first schedule, whatever its id, and
// /schedules/- a new one at the end.
//
// A record that is replaced or changed keeps its id and is checked by the fields
// that are touched. A new one gets its id as from Create. With one that is removed
// go those that Delete would remove. A collection that is added or replaced as a
// whole keeps its ids. "$schema" cannot be changed. Errors are as for Patch, or a
// *FaultError that wraps ErrExists or ErrRefers.
func (tx *Tx) PatchDatabase(patch jsontext.Value) error {
	ops, err := jsonpatch.Parse(patch)
	if err != nil {
		return patchFault(err)
	}
	d := &databasePatch{tx: tx, root: &jsonpatch.Node{Kind: '{'}, touched: make(map[*jsonpatch.Node]*touches), sites: make(map[element]location)}
	for i := range ops {
		op := &ops[i]
		for member, path := range map[string][]string{"/path": op.Path, "/from": op.From} {
			if member == "/from" && op.Op != "move" && op.Op != "copy" {
				continue
			}
			at := fmt.Sprintf("/%d%s", i, member)
			if len(path) == 0 {
				return refusePatch(at, "a patch of the database names a top-level field, as in /schedules/0")
			}
			if path[0] == "$schema" && op.Op != "test" {
				return refusePatch(at, "the schema of a database is set in its file")
			}
		}
		d.canonical(op.Path)
		d.canonical(op.From)
	}
	for _, c := range tx.snap.list {
		d.enter(c, ops)
	}
	d.patcher = &jsonpatch.Patcher{Root: d.root, Note: d.note}
	if err := d.patcher.Apply(ops); err != nil {
		return patchFault(err)
	}
	return d.finish()
}

// A databasePatch is a patch of the whole database.
type databasePatch struct {
	tx      *Tx
	patcher *jsonpatch.Patcher
	root    *jsonpatch.Node
	touched map[*jsonpatch.Node]*touches // of a top-level field, or of an element of a collection
	sites   map[element]location         // of what the patch has written
}

// canonical replaces aliases of fields in a path by their names in the schema.
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

// enter adds a node for a top-level field, and nodes for its elements if an
// operation names it.
func (d *databasePatch) enter(c *collection, ops []jsonpatch.Operation) {
	n := &jsonpatch.Node{Text: c.value}
	named := slices.ContainsFunc(ops, func(op jsonpatch.Operation) bool {
		return op.Path[0] == c.name || len(op.From) > 0 && op.From[0] == c.name
	})
	if c.kind == storage.Array {
		var kids []*jsonpatch.Node
		if named {
			kids = make([]*jsonpatch.Node, 0, c.records.Len())
			for _, r := range c.records.All() {
				kids = append(kids, &jsonpatch.Node{Text: r.Value, Origin: r})
			}
		}
		n = &jsonpatch.Node{Kind: '[', Kids: kids}
	}
	n.Origin = c
	d.root.Append(c.name, n)
}

// note records which top-level field, and which element of a collection, an
// operation touches.
func (d *databasePatch) note(i int, op *jsonpatch.Operation, path []string) {
	n, below := d.patcher.At(path[:1]), path[1:]
	if n == nil {
		return // it is added as a whole; the patcher reports it again when it is there
	}
	d.touch(n, i, op, below)
	if n.Kind != '[' || len(below) == 0 {
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
	tx.mine = make(map[string]bool) // what earlier writes have made is the base of this one
	base := tx.snap.fork()
	to := base.fork()
	for _, c := range base.list {
		if d.root.Find(c.name) < 0 {
			to.without(c.name)
		}
	}
	for i, n := range d.root.Kids {
		if t := d.touched[n]; t != nil {
			c, err := d.member(d.root.Name(i), n, t)
			if err != nil {
				return err
			}
			to.with(c, "")
		}
	}
	since := len(tx.changes)
	tx.copyFrom(to, base.difference(to).changes)
	for _, c := range to.list {
		if was := base.byName[c.name]; was != c && was.isArray() && c.isArray() {
			tx.reorder(tx.snap.byName[c.name], was, c, since)
		}
	}
	return tx.validateChanges(base.difference(tx.snap).changes, base, func(ch Change) (location, bool) {
		s, ok := d.sites[element{ch.Collection, ch.ID}]
		return s, ok
	})
}

// member returns a top-level field as the patch has left it.
func (d *databasePatch) member(name string, n *jsonpatch.Node, t *touches) (*collection, error) {
	tx, old := d.tx, d.tx.snap.byName[name]
	if old != nil && n.Origin == old && t.names() != nil && old.isArray() {
		return d.records(name, n.Kids, nil)
	}
	d.sites[element{name, ""}] = location{t.names(), t.place}
	c := &collection{name: name, kind: storage.Other, value: n.Value()}
	switch c.value.Kind() {
	case '[':
		if rawjson.Depth(c.value) > rawjson.MaxDepth+1 {
			return nil, placed(refusePatch("", fmt.Sprintf("this would leave records that are nested deeper than %d levels", rawjson.MaxDepth)), t.place)
		}
		n = &jsonpatch.Node{Text: c.value}
		n.Open()
		return d.records(name, n.Kids, t)
	case '{':
		value, place, err := d.read(name, c.value, t.place)
		if err != nil {
			return nil, err
		}
		d.sites[element{name, ""}] = location{t.names(), place}
		var before jsontext.Value
		if old != nil && old.kind == storage.Object {
			before = old.value
		}
		c.kind, c.value = storage.Object, tx.stamp(name, before, value)
	}
	if old != nil && !old.isArray() {
		c.value = rawjson.Merge(old.value, c.value, "")
	}
	return c, nil
}

// read returns an object that the patch has written with the schema's names of fields, and
// what moves faults in it to their place in the patch.
func (d *databasePatch) read(name string, value jsontext.Value, place func(schema.Fault) schema.Fault) (jsontext.Value, func(schema.Fault) schema.Fault, error) {
	value, sent, faults, err := d.tx.amended(name, value)
	if err == nil {
		err = faultError(faults, nil, nil)
	}
	moved := func(f schema.Fault) schema.Fault { return place(renamed(f, sent)) }
	return value, moved, placed(err, moved)
}

// records returns a collection of the elements that the patch has left and added. If
// whole is not nil, it has put them there together. A record keeps its id. An added
// element gets one if it has none, or if the schema makes ids read-only, unless it came
// with a whole array.
func (d *databasePatch) records(name string, kids []*jsonpatch.Node, whole *touches) (*collection, error) {
	tx, was := d.tx, d.tx.snap.byName[name]
	ids := idStats{member: tx.snap.IDMember(name)}
	if whole == nil {
		ids = was.ids
	}
	ids.inherit(tx.snap.idsOf(name))
	renew := whole == nil && tx.snap.schema.Member(name).ReadOnlyID()
	used := make(map[string]bool)
	for _, kid := range kids {
		r, _ := kid.Origin.(*Record)   // that it was when the patch began
		if r == nil || !was.holds(r) { // it is new, or comes from elsewhere
			kid.Origin = nil
			if id, ok := storage.ID(kid.Value(), ids.member); ok && !renew {
				ids.count(&Record{ID: id, Value: kid.Value()}, 1)
			}
			continue
		}
		used[r.ID] = true
		if id, ok := was.shadowedID(r); ok {
			used[id] = true
		}
	}
	records := make([]*Record, len(kids))
	for i, kid := range kids {
		r, _ := kid.Origin.(*Record)
		t, value := d.touched[kid], kid.Value()
		if r != nil && (t == nil || bytes.Equal(value, r.Value)) {
			records[i] = r
			continue
		}
		var names []string
		place := func(f schema.Fault) schema.Fault {
			return whole.place(under(fmt.Sprintf("/%d", i), []schema.Fault{f})[0])
		}
		if whole == nil {
			place = t.place
		}
		value, place, err := d.read(name, value, place)
		if err != nil {
			return nil, err
		}
		if r != nil {
			names = t.within()
		}
		var id string
		if r != nil && !storage.IsPositionKey(r.ID) {
			id = r.ID
			_, has := rawjson.Member(value, ids.member)
			if value, err = keepID(r, value, ids.member); err != nil || !has && slices.Contains(names, ids.member) {
				return nil, placed(idChanged(ids.member), place)
			}
		} else {
			var invalid, taken []schema.Fault
			value, id, invalid, taken = tx.withID(name, ids, value, renew && r == nil, func(id string) bool { return used[id] })
			if err := faultError(invalid, taken, nil); err != nil {
				return nil, placed(err, place)
			}
			used[id] = true
			ids.sees(id)
		}
		if whole != nil {
			r, _ = tx.snap.Get(name, id)
		}
		var before jsontext.Value
		if r != nil {
			before = r.Value
		}
		records[i] = &Record{ID: id, Value: rawjson.Merge(before, tx.stamp(name, before, value), "")}
		d.sites[element{name, id}] = location{names, place}
	}
	return newCollection(elementsOf(name, records), 0, tx.snap.conventions, was, true), nil
}
