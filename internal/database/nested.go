package database

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/jsonpatch"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// A Nested is a value inside a record or a singular resource. View is a snapshot with the value as
// a top-level field, so everything that works for a top-level field works for a nested value. A
// nested array is a collection if all elements are objects, unless the rules say otherwise.
type Nested struct {
	View     *Snapshot
	Name     string         // of the field of View: its path, percent-encoded
	ID       string         // of an element of the collection called Name; "": the whole value
	ReadOnly bool           // the path leads through the index of an element
	IsID     bool           // the value is the id of a record or of an element
	Value    jsontext.Value // the value called Name

	snap     *Snapshot
	of       element // the record
	record   jsontext.Value
	at       []string      // the tokens of a pointer from the record to Value
	rules    *schema.Rules // of the record
	isRecord bool          // whether Value, on the way to the end of the path, is a record or an element with an id
	idMember string        // the field with its id
}

// Nested returns the value at a path: the name of a collection and an id, or the name of a
// singular resource, and then names of fields, ids of elements and indexes. Nested does not check
// that the element with the last id exists. If create is set, Nested returns an empty collection
// for a missing field in which the rules, or other records, have a collection.
//
// The error is a *FaultError that wraps ErrNotFound, with a pointer into the path.
func (s *Snapshot) Nested(path []string, create bool) (*Nested, error) {
	n := &Nested{
		snap:     s,
		of:       element{collection: path[0]},
		idMember: s.IDMember(path[0]),
		rules:    s.schema.Member(path[0]),
	}
	start := 1
	if s.byName[path[0]].isArray() {
		n.of.id = path[1]
		start = 2
	}
	value, err := s.Target(n.of.collection, n.of.id)
	if err != nil {
		const detail = "%s has no record with the id %q"
		return nil, faultAt(storage.ErrNotFound, "/1", detail, path[0], rawjson.Shorten(n.of.id))
	}
	n.record = value
	n.Value = value
	n.isRecord = n.of.id != ""
	rest := slices.Clone(path[start:])
	n.rules.CanonicalPath(rest)
	for i, name := range rest {
		if f := n.step(name, i == len(rest)-1, create); f != nil {
			f.Pointer = fmt.Sprintf("/%d", start+i)
			f.Detail = joined(path[:start+i]) + " " + f.Detail
			return nil, &FaultError{Kind: storage.ErrNotFound, Faults: []schema.Fault{*f}}
		}
	}
	last := len(path)
	if n.ID != "" {
		last--
	}
	n.Name = joined(path[:last])
	n.setView()
	if c := n.View.byName[n.Name]; create && c.isArray() && c.records.Len() == 0 {
		sibling := n.sibling(n.at)
		if id, ok := storage.ID(sibling, c.ids.member); ok { // the ids are of the same kind
			*c.ids.kind(&Record{ID: id, Value: sibling}) = 1
		}
	}
	return n, nil
}

// joined returns the path of a URL.
func joined(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteString("/" + url.PathEscape(name))
	}
	return b.String()
}

// inside returns the rules for the value.
func (n *Nested) inside() *schema.Rules {
	return n.rules.Nested(n.at, n.idMember)
}

// isCollection reports whether the value is an array of objects, and the rules do not declare an
// array of scalars.
func (n *Nested) isCollection() bool {
	for e := range rawjson.Elements(n.Value) {
		if e.Kind() != '{' {
			return false
		}
	}
	return n.Value.Kind() == '[' && !n.inside().Scalars
}

// step goes on to a field or an element. The error is a fault without pointer.
func (n *Nested) step(name string, last, create bool) *schema.Fault {
	switch n.Value.Kind() {
	case '{':
		value, ok := rawjson.Member(n.Value, name)
		at := append(n.at, name)
		if !ok {
			if !last || !create || !n.holdsObjects(at) {
				return n.noField(name)
			}
			value = jsontext.Value("[]")
		}
		n.IsID = n.isRecord && name == n.idMember
		n.isRecord = false
		n.Value = value
		n.at = at
		return nil
	case '[':
		if n.isCollection() {
			return n.element(name, last)
		}
		i := rawjson.ElementAt(n.Value, 0, name)
		if i < 0 {
			return &schema.Fault{Detail: fmt.Sprintf("has no element %q", rawjson.Shorten(name))}
		}
		n.Value = n.Value[i:rawjson.SkipValue(n.Value, i)]
		n.at = append(n.at, name)
		n.ReadOnly = true
		return nil
	}
	return &schema.Fault{Detail: "is " + rawjson.KindName(n.Value) + ", and has nothing below it"}
}

// element goes on to the element with an id. If the id is the last name of the path, element stays at
// the collection and sets ID.
func (n *Nested) element(id string, last bool) *schema.Fault {
	if last {
		n.ID = id
		return nil
	}
	n.idMember = n.inside().IDMember
	i := 0
	for e := range rawjson.Elements(n.Value) {
		if own, ok := storage.ID(e, n.idMember); ok && own == id {
			n.Value = e
			n.isRecord = true
			n.at = append(n.at, strconv.Itoa(i))
			return nil
		}
		i++
	}
	return &schema.Fault{Detail: fmt.Sprintf("has no record with the id %q", rawjson.Shorten(id))}
}

func (n *Nested) noField(name string) *schema.Fault {
	near := spell.Nearest(name, rawjson.MemberNames(n.Value))
	f := schema.Fault{Detail: fmt.Sprintf("has no field %q", rawjson.Shorten(name))}.Meaning(near, strconv.Quote(near))
	return &f
}

// holdsObjects reports whether the rules or the records of the same kind have objects in an array
// at a path of the record.
func (n *Nested) holdsObjects(at []string) bool {
	return n.rules.Nested(at, n.idMember).Array || n.sibling(at) != nil
}

// sibling returns an object in an array at the same path of this record or another one of the
// collection, or nil.
func (n *Nested) sibling(at []string) jsontext.Value {
	if found := objectAt(n.record, at); found != nil || n.of.id == "" {
		return found
	}
	for r := range n.snap.All(n.of.collection) {
		if found := objectAt(r.Value, at); found != nil {
			return found
		}
	}
	return nil
}

// objectAt returns the first object in an array at a path, in which an index stands for any
// element, or nil.
func objectAt(v jsontext.Value, at []string) jsontext.Value {
	if len(at) > 0 && v.Kind() != '[' {
		value, _ := rawjson.Member(v, at[0])
		return objectAt(value, at[1:])
	}
	for e := range rawjson.Elements(v) {
		if len(at) > 0 {
			e = objectAt(e, at[1:])
		}
		if e.Kind() == '{' {
			return e
		}
	}
	return nil
}

// setView sets View. The revision of the value in the view is a hash of the value, so that the tag
// depends on nothing else.
func (n *Nested) setView() {
	n.View = n.snap.fork()
	n.View.schema = n.snap.schema.With(n.Name, n.inside())
	c := &collection{name: n.Name, kind: storage.Other, value: n.Value}
	if n.isCollection() {
		c = whole(n.Name, n.Value, n.View.conventions)
	} else if n.Value.Kind() == '{' {
		c.kind = storage.Object
	}
	sum := sha256.Sum256(n.Value)
	c.rev = storage.Rev(binary.BigEndian.Uint64(sum[:]) | 1)
	c.nested = true
	n.View.with(c, "")
	n.View.staged = n.snap.staged
}

// checkChange returns an error if the value cannot be changed at its path. A client may have asked for
// the path when another kind of value was there.
func (n *Nested) checkChange() error {
	if n.ReadOnly || n.IsID || len(n.at) == 0 {
		return malformed("", "the value at %s cannot be changed by itself", n.Name)
	}
	return nil
}

// Nested runs fn on a Tx of the view of a nested value, and writes the changed value into the
// record. The rules check the whole record. Pointers of faults lead into the bodies that fn has read;
// for a fault elsewhere in the record, Member is a pointer into the record.
func (tx *Tx) Nested(path []string, create bool, fn func(*Tx) error) error {
	n, err := tx.snap.Nested(path, create)
	if err != nil {
		return err
	}
	if err := n.checkChange(); err != nil {
		return err
	}
	inner := newTx(n.View)
	inner.nested = n
	inner.clock = tx.clock
	inner.time = tx.time
	if err := fn(inner); err != nil || !inner.IsChanged() {
		return err
	}
	tx.time = inner.time
	op := jsonpatch.Operation{Op: "remove", Path: n.at}
	if c := inner.snap.byName[n.Name]; c != nil {
		op = jsonpatch.Operation{Op: "add", Path: n.at, Value: c.appendJSON(nil)}
	}
	value, _, err := jsonpatch.Apply(n.record, []jsonpatch.Operation{op})
	if err != nil {
		return patchFault(err)
	}
	if rawjson.Depth(value) > rawjson.MaxDepth {
		return malformed("", "the record would be nested deeper than %d levels", rawjson.MaxDepth)
	}
	old, err := tx.target(n.of.collection, n.of.id)
	if err != nil {
		return err
	}
	return tx.moving(func(f schema.Fault) schema.Fault { return inner.place(n, f) }, func() error {
		_, err := tx.validateAndSet(n.of.collection, old, value, n.at[:1], nil, nil)
		return err
	})
}

// place moves a fault from the record into a body that was read for tx, a Tx of the view of n.
func (tx *Tx) place(n *Nested, f schema.Fault) schema.Fault {
	below, ok := strings.CutPrefix(f.Pointer, rawjson.Pointer(n.at...))
	if ok && (below == "" || below[0] == '/') {
		key, inElement := "", ""
		if tokens := rawjson.SplitPointer(below); len(tokens) > 0 && tx.snap.byName[n.Name].isArray() {
			i, _ := rawjson.Index(tokens[0])
			if r, ok := tx.snap.byName[n.Name].records.At(tx.snap.byName[n.Name].records.Nth(i)); ok {
				key, inElement = r.ID, rawjson.Pointer(tokens[1:]...)
			}
		}
		for _, w := range slices.Backward(tx.pending) {
			if w.element == (element{n.Name, ""}) {
				return w.translate(moved(f, below))
			}
			if w.element == (element{n.Name, key}) {
				return w.translate(moved(f, inElement))
			}
		}
	}
	f.Member = f.Pointer
	f.Pointer = ""
	return f
}

// Assign sets a top-level field of the view of a nested value. The old and the new value must be of
// the same kind: an array, an object or a scalar.
func (tx *Tx) Assign(name string, value jsontext.Value) (*Record, error) {
	c := tx.snap.byName[name]
	if c == nil {
		return nil, fmt.Errorf("%q: %w", name, storage.ErrNotFound)
	}
	is := jsontext.Value(c.appendJSON(nil))
	if container(is) != container(value) {
		const detail = "%s is %s, which PUT does not turn into %s: change the record instead"
		return nil, faultAt(storage.ErrInvalid, "", detail, name, rawjson.KindName(is), rawjson.KindName(value))
	}
	value = rawjson.Unescaped(value)
	if c.isArray() {
		if err := tx.checkElements(c, value); err != nil {
			return nil, err
		}
	}
	tx.refer(element{name, ""}, nil, nil)
	tx.put(&collection{name: name, kind: storage.Other, value: value}, "")
	return &Record{Value: value}, nil
}

// checkElements returns an error if an array that replaces a collection has an id twice. It also
// returns an error for an element that is not an object, if arrays at this path have objects.
func (tx *Tx) checkElements(c *collection, value jsontext.Value) error {
	areObjects := tx.nested.holdsObjects(tx.nested.at)
	for i, r := range whole(c.name, value, tx.snap.conventions).recordList() {
		at := strconv.Itoa(i)
		if areObjects && r.Value.Kind() != '{' {
			return faultAt(storage.ErrInvalid, "/"+at, "%s has objects, and this is %s", c.name,
				rawjson.KindName(r.Value))
		}
		if id, ok := c.shadowedID(r); ok {
			pointer := rawjson.Pointer(at, c.ids.member)
			return faultAt(ErrExists, pointer, "the id %q is taken", rawjson.Shorten(id))
		}
	}
	return nil
}

// container returns the bracket of an array or object, and 0 for a scalar.
func container(v jsontext.Value) jsontext.Kind {
	if k := v.Kind(); k == '{' || k == '[' {
		return k
	}
	return 0
}

// Drop removes a top-level field of the view of a nested value, and returns its value.
func (tx *Tx) Drop(name string) (*Record, error) {
	c := tx.snap.byName[name]
	if c == nil {
		return nil, fmt.Errorf("%q: %w", name, storage.ErrNotFound)
	}
	tx.drop(name)
	return &Record{Value: c.appendJSON(nil)}, nil
}

// Nested returns r as a revision of the view of the value at a path. It reports false if no event can
// express the revision: the value was created or deleted, or has another kind.
func (r *Revision) Nested(path []string) (*Revision, bool) {
	if r.Before == nil {
		return nil, false
	}
	before, err := r.Before.Nested(path, false)
	if err != nil {
		return nil, false
	}
	after, err := r.After.Nested(path, false)
	if err != nil {
		return nil, false
	}
	d := new(difference)
	d.member(before.View.byName[before.Name], after.View.byName[after.Name])
	part := *r
	part.Before = before.View
	part.After = after.View
	part.Changes = d.changes
	return &part, true
}

// pathOf returns the path of a nested value, given an operation with a path.
func (tx *Tx) pathOf(op *operation) ([]string, error) {
	c := tx.snap.byName[op.collection]
	if c == nil {
		return nil, tx.noCollection(op.collection)
	}
	path := []string{op.collection}
	if c.isArray() {
		if op.id == "" {
			return nil, malformed("/id", "the id of the record is missing")
		}
		path = append(path, op.id)
	} else if op.id != "" || c.kind != storage.Object {
		return nil, malformed("/collection", "%s has no ids, or nothing inside", op.collection)
	}
	return append(path, op.path...), nil
}

// doNested makes an operation with a path.
func (tx *Tx) doNested(op *operation, create Mode) (*writtenValue, error) {
	path, err := tx.pathOf(op)
	if err != nil {
		return nil, err
	}
	inPath := func(f schema.Fault) schema.Fault { return moved(f, "/path") }
	n, err := tx.snap.Nested(path, op.op == "create")
	if err != nil {
		return nil, placed(err, inPath)
	}
	if err := n.checkChange(); err != nil {
		return nil, placed(err, inPath)
	}
	w := &writtenValue{element: element{n.Name, n.ID}, path: path}
	op.collection = n.Name
	op.id = n.ID
	err = tx.Nested(path, op.op == "create", func(inner *Tx) error {
		e, err := inner.doInView(op, n, create)
		if e != nil {
			w.element = *e
		}
		return placed(err, func(f schema.Fault) schema.Fault {
			if f.Pointer == "/id" || f.Pointer == "/collection" {
				return inPath(f)
			}
			return f
		})
	})
	if err != nil || op.op == "delete" || op.op == "remove" {
		return nil, err
	}
	return w, nil
}

// doInView makes an operation on a nested value. The Tx is of the view with the value.
func (tx *Tx) doInView(op *operation, n *Nested, create Mode) (*element, error) {
	ofField := op.op == "create" || op.op == "set" || op.op == "remove"
	if ofField && n.ID != "" {
		return nil, malformed("/path", "%s is for fields: replace or delete an element", op.op)
	}
	field := tx.snap.byName[n.Name]
	switch op.op {
	case "set":
		return nil, tx.Below("/value", func() error {
			_, err := tx.Assign(n.Name, op.value)
			return err
		})
	case "remove":
		if err := tx.checkIf(op, n.Value); err != nil {
			return nil, err
		}
		_, err := tx.Drop(n.Name)
		return nil, err
	case "create":
		return tx.createIn(op, field, create)
	}
	return tx.changeOne(op, field)
}
