package database

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// maxFaults is roughly how many faults Do reports. More would not be read.
const maxFaults = 100

// maxWrittenBytes plus 16 times the size of the database is the maximum number of bytes that the
// operations of Do may write, since a short operation may write a whole collection. Tests lower the
// limit.
var maxWrittenBytes = 256 << 20

// Do makes the operations in a JSON array, in their order. Each sees those before it:
//
//	{"op": "create", "collection": …, "record": …}
//	{"op": "update", "collection": …, "id": …, "record": …, "unset": […], "if": …}
//	{"op": "replace", "collection": …, "id": …, "record": …, "if": …}
//	{"op": "delete", "collection": …, "id": …, "if": …}
//	{"op": "set", "collection": …, "value": …}
//	{"op": "remove", "collection": …, "if": …}
//	{"op": "rename", "collection": …, "to": …}
//	{"op": "rename", "collection": …, "field": …, "to": …}
//	{"op": "unset", "collection": …, "field": …}
//
// All but the last three operations accept a path, a list of strings. The path leads from the record
// with the id, or from an object, to a nested value, see Snapshot.Nested.
//
// The first four operations are like Put and Delete; create is the Mode of new records. An object
// has no id. An update merges the fields of record, and then removes the fields in unset. The
// operation set adds or replaces a top-level field, and remove removes a field: the records are
// deleted and created one by one. The last two operations change a field of all records. The
// condition "if" is an object. The record or object must have the fields of the condition. A field
// that is null in the condition may also be missing.
//
// For each operation, Do returns the written value as the last operation has left it, or nil.
//
// The error is a *FaultError with pointers into the array, as in /0/record/title. Do tries all
// operations. The error wraps the error of the first failed operation: an error of Put or Delete,
// ErrNotFound, or ErrMismatch if a condition does not hold or a new name is in use. The error wraps
// ErrTooLarge if the operations write too much. After an error, the caller must drop tx. Unique
// values are checked after the last operation.
func (tx *Tx) Do(operations jsontext.Value, create Mode) ([]jsontext.Value, error) {
	var written []*writtenValue
	var all FaultError
	var collisions []collision
	tx.collides = func(c collision) { collisions = append(collisions, c) }
	defer func() { tx.collides = nil }()
	most := maxWrittenBytes + 16*tx.snap.size()
	others := 0 // number of faults besides collisions
	for v := range rawjson.Elements(operations) {
		at := fmt.Sprintf("/%d", len(written))
		if others >= maxFaults {
			const detail = "not checked from here on: there are too many errors before"
			all.Faults = append(all.Faults, schema.Fault{Pointer: at, Detail: detail})
			break
		}
		seen := len(collisions)
		var w *writtenValue
		err := tx.Below(at, func() (err error) {
			w, err = tx.do(v, create)
			return err
		})
		before := len(all.Faults)
		if err := all.Add(err); err != nil {
			return nil, err
		}
		others += len(all.Faults) - before
		for _, c := range collisions[seen:] {
			all.addTaken(c.faults, c.translate)
		}
		written = append(written, w)
		if tx.written > most {
			const advice = "the operations write more than %d MiB: send them in several transactions"
			return nil, &storage.AdviceError{Err: storage.ErrTooLarge, Advice: fmt.Sprintf(advice, most>>20)}
		}
	}
	if others == 0 { // a collision counts only if the last operation has left it
		all = FaultError{}
		for _, c := range collisions {
			if value := tx.snap.valueAt(c.element); value != nil {
				all.addTaken(tx.taken(tx.snap.byName[c.collection], value, c.id, c.names), c.translate)
			}
		}
	}
	if all.Kind != nil {
		all.Faults = all.Faults[:min(len(all.Faults), 2*maxFaults)]
		return nil, &all
	}
	values := make([]jsontext.Value, len(written))
	for i, w := range written {
		if w != nil {
			values[i] = tx.stored(w)
		}
	}
	return values, nil
}

// A writtenValue names the value that an operation has written.
type writtenValue struct {
	element
	path []string // if not nil, element is in the view of the nested value at path
}

// stored returns the value that an operation has written, or nil.
func (tx *Tx) stored(w *writtenValue) jsontext.Value {
	if w.path == nil {
		return tx.snap.valueAt(w.element)
	}
	n, err := tx.snap.Nested(w.path, false)
	if err != nil {
		return nil
	}
	return n.View.valueAt(w.element)
}

// do makes one operation, and returns the written value. The pointers of faults lead into the
// operation.
func (tx *Tx) do(v jsontext.Value, create Mode) (*writtenValue, error) {
	op, err := parseOperation(v)
	if err != nil {
		return nil, err
	}
	if op.path != nil {
		return tx.doNested(op, create)
	}
	e, err := tx.doOne(op, create)
	if e == nil {
		return nil, err
	}
	return &writtenValue{element: *e}, err
}

// doOne makes an operation without a path.
func (tx *Tx) doOne(op *operation, create Mode) (*element, error) {
	name := op.collection
	for pointer, name := range map[string]string{"/collection": name, "/to": op.to} {
		if name == "$schema" && op.field == "" {
			return nil, malformed(pointer, "the schema of a database is set in its file")
		}
	}
	if op.op == "set" {
		return &element{name, ""}, tx.Below("/value", func() error { return tx.setField(name, op.value) })
	}
	c := tx.snap.byName[name]
	if c == nil {
		return nil, tx.noCollection(name)
	}
	if op.op == "create" {
		return tx.createIn(op, c, create)
	}
	if op.op == "remove" {
		return nil, tx.removeField(op, c)
	}
	if op.field != "" {
		return nil, tx.editAll(op, c)
	}
	if op.op == "rename" {
		return nil, tx.renameField(op, c)
	}
	return tx.changeOne(op, c)
}

func (tx *Tx) noCollection(name string) error {
	detail := fmt.Sprintf("there is no collection %q", rawjson.Shorten(name))
	near := spell.Nearest(name, tx.snap.Names())
	fault := schema.Fault{Pointer: "/collection", Detail: detail}.Meaning(near, near)
	return &FaultError{Kind: storage.ErrNotFound, Faults: []schema.Fault{fault}}
}

func (tx *Tx) createIn(op *operation, c *collection, mode Mode) (*element, error) {
	if !c.isArray() {
		return nil, malformed("/collection", "%s is no collection: set replaces it", op.collection)
	}
	var id string
	err := tx.Below("/record", func() error {
		r, err := tx.create(mode, op.collection, "", op.record)
		if err == nil {
			id = r.ID
		}
		return err
	})
	return &element{op.collection, id}, err
}

// changeOne updates, replaces or deletes a record or an object.
func (tx *Tx) changeOne(op *operation, c *collection) (*element, error) {
	if err := checkID(op, c); err != nil {
		return nil, err
	}
	old, err := tx.target(op.collection, op.id)
	if err != nil {
		id := rawjson.Shorten(op.id)
		return nil, faultAt(storage.ErrNotFound, "/id", "%s has no record with the id %q", op.collection, id)
	}
	if err := tx.checkIf(op, old.Value); err != nil {
		return nil, err
	}
	if op.op == "delete" {
		_, err := tx.Delete(op.collection, op.id)
		return nil, err
	}
	mode := Replace
	if op.op == "update" {
		mode = Merge
	}
	if op.record == nil {
		op.record = jsontext.Value("{}")
	}
	rules := tx.rules(op.collection)
	unset := canonical(rules, op.unset)
	for _, name := range canonical(rules, rawjson.MemberNames(op.record)) {
		if i := slices.Index(unset, name); i >= 0 {
			at := fmt.Sprintf("/unset/%d", i)
			return nil, malformed(at, "the record has a value for %s: send one of them", name)
		}
	}
	intoOperation := func(f schema.Fault) schema.Fault {
		for i, name := range unset {
			if f.Pointer == rawjson.Pointer(name) {
				f.Pointer = fmt.Sprintf("/unset/%d", i)
				return f
			}
		}
		f.Pointer = "/record" + f.Pointer
		return f
	}
	err = tx.moving(intoOperation, func() error {
		_, err := tx.modify(mode, op.collection, op.id, op.record, unset)
		return err
	})
	return &element{op.collection, op.id}, err
}

// canonical returns names of fields with aliases replaced by the schema's names.
func canonical(rules *schema.Rules, names []string) []string {
	names = slices.Clone(names)
	for i := range names {
		rules.CanonicalPath(names[i : i+1])
	}
	return names
}

// checkID checks that an operation has an id if it changes a record, and none otherwise.
func checkID(op *operation, c *collection) error {
	if c.isArray() {
		if op.id == "" {
			return malformed("/id", "the id of the record is missing")
		}
		return nil
	}
	if c.kind != storage.Object || op.op == "delete" {
		const detail = "%s is no collection: set replaces it, and remove removes it"
		return malformed("/collection", detail, op.collection)
	}
	if op.id != "" {
		return malformed("/id", "%s is an object and has no ids", op.collection)
	}
	return nil
}

// checkIf returns a fault for each field of the condition that does not hold.
func (tx *Tx) checkIf(op *operation, value jsontext.Value) error {
	rules := tx.rules(op.collection)
	var faults []schema.Fault
	for name, want := range rawjson.Fields(op.condition) {
		has, ok := rawjson.Member(value, canonical(rules, []string{name})[0])
		if !ok {
			has = jsontext.Value("null")
		}
		if rawjson.Equal(has, want) {
			continue
		}
		detail := fmt.Sprintf("%s is %s", name, rawjson.Show(has))
		if !ok {
			detail = name + " is missing"
		}
		faults = append(faults, schema.Fault{Pointer: rawjson.Pointer("if", name), Detail: detail})
	}
	if faults == nil {
		return nil
	}
	return &FaultError{Kind: ErrMismatch, Faults: faults}
}

// setField adds or replaces a top-level field.
func (tx *Tx) setField(name string, value jsontext.Value) error {
	if value.Kind() == '[' {
		return tx.setCollection(name, value)
	}
	old := tx.snap.byName[name]
	rules := tx.rules(name)
	var before jsontext.Value
	if old != nil && old.kind == storage.Object {
		before = old.value
	}
	kind := storage.KindOf(name, value)
	var sent map[string]string
	var faults []schema.Fault
	if kind == storage.Object {
		value, sent, faults = rules.Canonical(value)
		value = rawjson.Merge(before, tx.stamp(name, before, value), "")
	}
	faults = append(faults, rules.CheckType(value)...)
	faults = append(faults, rules.ForObject().Check(before, value, nil)...)
	if err := faultError(faults, nil, sent); err != nil {
		return err
	}
	if old != nil && old.kind == kind && bytes.Equal(old.value, value) {
		return nil
	}
	tx.refer(element{name, ""}, before, sent)
	tx.put(&collection{name: name, kind: kind, value: value}, "")
	return tx.deleted(old, nil)
}

// setCollection deletes all records of a collection and creates the records of value with their
// ids. The rules for deletions apply to records whose ids are gone.
func (tx *Tx) setCollection(name string, value jsontext.Value) error {
	if faults := tx.rules(name).CheckType(jsontext.Value("[]")); faults != nil {
		return &FaultError{Kind: storage.ErrInvalid, Faults: faults}
	}
	old := tx.snap.byName[name]
	since := len(tx.changes)
	wasMine := tx.mine[name]
	empty := whole(name, jsontext.Value("[]"), tx.snap.conventions)
	empty.ids.inherit(tx.snap.idsOf(name))
	tx.mine[name] = true
	tx.snap.with(empty, "")
	var all FaultError
	i := 0
	for v := range rawjson.Elements(value) {
		err := tx.Below(fmt.Sprintf("/%d", i), func() error {
			_, err := tx.create(createKept, name, "", v)
			return err
		})
		if err := all.Add(err); err != nil {
			return err
		}
		if len(all.Faults) >= maxFaults {
			break
		}
		i++
	}
	if all.Kind != nil {
		return &all
	}
	// One change of the whole field replaces the changes of the records.
	made := tx.snap.byName[name]
	tx.changes = tx.changes[:since]
	if old == nil {
		tx.snap.without(name)
	} else {
		tx.snap.with(old, "")
	}
	sameRecord := func(a, b *Record) bool { return a.ID == b.ID && bytes.Equal(a.Value, b.Value) }
	if old.isArray() && slices.EqualFunc(old.recordList(), made.recordList(), sameRecord) {
		tx.mine[name] = wasMine
		return nil
	}
	tx.put(made, "")
	return tx.deleted(old, made)
}

// deleted handles references to the records of old that now, the new collection, does not have. Both
// collections may be nil.
func (tx *Tx) deleted(old, now *collection) error {
	var gone []element
	for _, r := range old.recordList() {
		if now.valueAt(r.ID) == nil {
			gone = append(gone, element{old.name, r.ID})
		}
	}
	return tx.cascade(gone)
}

// removeField removes a top-level field.
func (tx *Tx) removeField(op *operation, c *collection) error {
	if op.condition != nil && c.kind != storage.Object {
		return malformed("/if", "%s is no object, and has no fields", op.collection)
	}
	if err := tx.checkIf(op, c.value); err != nil {
		return err
	}
	tx.drop(op.collection)
	return tx.deleted(c, nil)
}

// renameField gives a top-level field another name.
func (tx *Tx) renameField(op *operation, c *collection) error {
	if tx.snap.byName[op.to] != nil {
		return faultAt(ErrMismatch, "/to", "there is a collection %s", op.to)
	}
	if at := tx.snap.schema.Declaration(op.collection, ""); at != "" {
		return faultAt(storage.ErrInvalid, "/collection", "%s names %s: change the schema first", at, op.collection)
	}
	in, next := c.contents(), tx.snap.nextOf(op.collection, tx.snap)
	in.Name = op.to
	tx.drop(op.collection)
	tx.replace(in, next)
	now := tx.snap.byName[op.to]
	now.ids.inherit(c.ids)
	rules := tx.rules(op.to)
	if !now.isArray() {
		tx.referAs(op.to, element{op.to, ""})
		faults := append(rules.CheckType(now.value), rules.ForObject().Check(now.value, now.value, nil)...)
		return placed(faultError(faults, nil, nil),
			func(f schema.Fault) schema.Fault { return inRecord(f, "/to", op.to) })
	}
	faults := rules.CheckType(jsontext.Value("[]"))
	for _, r := range now.recordList() {
		tx.referAs(describe(op.to, r), element{op.to, r.ID})
		found := append(rules.ForRecord().Check(r.Value, r.Value, nil), tx.taken(now, r.Value, r.ID, nil)...)
		for _, f := range found {
			faults = append(faults, inRecord(f, "/to", describe(op.to, r)))
		}
		if len(faults) >= maxFaults {
			break
		}
	}
	return faultError(faults, nil, nil)
}

// referAs is refer for an element of a renamed top-level field. record names the element in faults.
func (tx *Tx) referAs(record string, at element) {
	outer := tx.translate
	tx.translate = func(f schema.Fault) schema.Fault { return outer(inRecord(f, "/to", record)) }
	tx.refer(at, nil, nil)
	tx.translate = outer
}

// inRecord moves a fault in a record to a pointer into an operation on all records. The sentence then
// names the record.
func inRecord(f schema.Fault, pointer, record string) schema.Fault {
	f.Detail = record + f.Pointer + ": " + f.Detail
	f.Pointer = pointer
	return f
}

// editAll renames or removes a field of all records of a collection, or of an object.
func (tx *Tx) editAll(op *operation, c *collection) error {
	name := op.collection
	rules := tx.rules(name)
	to := canonical(rules, []string{op.to})[0]
	if at := tx.snap.schema.Declaration(name, op.field); at != "" {
		return faultAt(storage.ErrInvalid, "/field", "%s names %s: change the schema first", at, op.field)
	}
	records := c.recordList()
	if !c.isArray() {
		records = []*Record{{Value: c.value}}
	} else if op.field == c.ids.member || to == c.ids.member {
		return malformed("/field", "%s is the id of the records, which cannot be changed", c.ids.member)
	}
	found, pointer := false, "/to"
	if op.op == "unset" {
		pointer = "/field"
	}
	var all FaultError
	for _, r := range records {
		value, has := withName(r.Value, op.field, to)
		if !has {
			continue
		}
		found = true
		var err error
		if _, taken := rawjson.Member(r.Value, to); op.op == "rename" && taken {
			err = faultAt(ErrMismatch, pointer, "%s has a field %s", describe(name, r), to)
		} else {
			into := func(f schema.Fault) schema.Fault { return inRecord(f, pointer, describe(name, r)) }
			err = tx.moving(into, func() error {
				_, err := tx.validateAndSet(name, r, value, []string{to}, nil, nil)
				return err
			})
		}
		if err := all.Add(err); err != nil {
			return err
		}
		if len(all.Faults) >= maxFaults {
			break
		}
	}
	if all.Kind != nil {
		return &all
	}
	if !found {
		return faultAt(storage.ErrNotFound, "/field", "nothing in %s has a field %s", name, rawjson.Shorten(op.field))
	}
	return nil
}
