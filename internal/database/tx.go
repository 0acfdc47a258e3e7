package database

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// A Tx is a change of the database in preparation. A Tx sees its own writes, and others see
// them only when they are durable. A Tx is valid only in the function of the call of Update.
//
// Bodies are valid JSON without duplicate names, with the client's spelling of names: the
// pointers of a FaultError lead into the body, see Below. Returned records are as stored.
type Tx struct {
	snap    *Snapshot // the collections are shared with other snapshots unless in mine
	mine    map[string]bool
	changes []Change // in order, without Op
	written int      // bytes of the values in changes, which Do limits

	pending   []pending       // what the end of the Tx checks
	collides  func(collision) // see checkUnique; nil: values may not collide
	translate translation     // of faults in the values that are being written

	history    *history
	edits      *edits
	clock      *clock
	time       time.Time   // the time of all stamps, zero before the first stamp
	undoes     storage.Rev // the reverted revision, or 0
	session    string      // see From
	mustBeLast bool        // whether no other update may follow in the commit
	exact      bool        // whether restored values have their own order of fields
	nested     *Nested     // the value whose view the snapshot is; nil: the snapshot is no view
}

func newTx(base *Snapshot) *Tx {
	return &Tx{snap: base.fork(), mine: make(map[string]bool), translate: unmoved}
}

// Snapshot returns the database with the changes of tx. It is valid until the next write.
func (tx *Tx) Snapshot() *Snapshot {
	return tx.snap
}

// From notes for the history that tx commits a session.
func (tx *Tx) From(session string) {
	tx.session = session
}

// rules returns the rules for a top-level field.
func (tx *Tx) rules(name string) *schema.Rules {
	return tx.snap.schema.Member(name)
}

// IsChanged reports whether tx has made a change. An update without changes makes no revision.
func (tx *Tx) IsChanged() bool {
	return len(tx.changes) > 0
}

// Repeat makes the times and the random ids that tx writes the same for each seed and time.
func (tx *Tx) Repeat(seed uint64, now time.Time) {
	tx.clock = newClock(now, &seed)
	tx.time = now
}

// own returns a collection, which must exist, for writing.
func (tx *Tx) own(name string) *collection {
	c := tx.snap.byName[name]
	if !tx.mine[name] {
		c = c.clone()
		tx.mine[name] = true
		tx.snap.with(c, "")
	}
	return c
}

// set sets a record of a collection to a value. The fields of the value must be in the order of the
// old value, see rawjson.Merge.
func (tx *Tx) set(collection, id string, value jsontext.Value) *Record {
	r, old := tx.own(collection).set(id, value)
	ch := Change{Collection: collection, ID: id, After: value}
	if old != nil {
		ch.Before = old.Value
	}
	tx.changes = append(tx.changes, ch)
	tx.written += len(value)
	return r
}

// unset deletes the element of a collection with that key.
func (tx *Tx) unset(collection, key string) {
	c := tx.own(collection)
	tx.changes = append(tx.changes, Change{Collection: collection, ID: key, Before: c.valueAt(key)})
	c.remove(key)
}

// drop removes a top-level field.
func (tx *Tx) drop(name string) {
	tx.snap.without(name)
	delete(tx.mine, name)
	tx.changes = append(tx.changes, Change{Collection: name})
}

// A Mode is how Put makes a record of a body.
type Mode int

// createKept is Create for a record whose id is kept even if ids are read-only.
const createKept Mode = -1

// The modes of Put.
const (
	Create             Mode = iota // append a record
	CreateWithDefaults             // with the schema's defaults for fields that the body lacks
	Replace                        // the body is the whole record
	Merge                          // set the fields of the body, null included, and keep the others
	MergePatch                     // as JSON Merge Patch (RFC 7396): at every depth, and null removes a field
)

// Put writes a record or, if id is empty, a singular resource. The error wraps
// ErrNotFound if there is no such record or resource; other errors are a *FaultError, which
// wraps ErrShape if the body is not an object or has another id. The id of a record keeps its
// spelling. When fields are merged, Put checks only the sent fields.
//
// A new record has the id, which becomes a number if the ids of the collection are
// numbers. If id is empty, the record has the id of the body, or a new id if the body has
// no id or the collection's ids are readOnly.
func (tx *Tx) Put(mode Mode, name, id string, body jsontext.Value) (*Record, error) {
	if mode <= CreateWithDefaults {
		return tx.create(mode, name, id, body)
	}
	return tx.modify(mode, name, id, body, nil)
}

// modify is Put for an existing record or resource. It also removes the fields called unset.
func (tx *Tx) modify(mode Mode, name, id string, body jsontext.Value, unset []string) (*Record, error) {
	old, err := tx.target(name, id)
	if err != nil {
		return nil, err
	}
	value, sent, faults, err := tx.read(name, body)
	if err != nil {
		return nil, err
	}
	idMember := tx.snap.IDMember(name)
	if _, has := rawjson.Member(value, idMember); has || mode == Replace {
		if value, err = keepID(old, value, idMember); err != nil {
			return nil, err
		}
	}
	var names []string // the sent fields; nil: all fields are checked
	if mode != Replace {
		names = rawjson.MemberNames(value)
	}
	switch mode {
	case Merge:
		value = rawjson.MergeMembers(old.Value, value)
	case MergePatch:
		value = rawjson.MergePatch(old.Value, value)
	}
	for _, field := range unset {
		if field == idMember && old.ID != "" {
			return nil, idChanged(idMember)
		}
		value, _ = withName(value, field, "")
		names = append(names, field)
	}
	return tx.validateAndSet(name, old, value, names, sent, faults)
}

func (tx *Tx) create(mode Mode, collection, id string, body jsontext.Value) (*Record, error) {
	c, err := tx.snap.array(collection)
	if err != nil {
		return nil, err
	}
	value, sent, faults, err := tx.read(collection, body)
	if err != nil {
		return nil, err
	}
	if id != "" {
		idMember := c.ids.member
		if v, has := rawjson.Member(value, idMember); !has {
			value = rawjson.SetMember(value, idMember, spelled(tx.snap.newIDs(collection, c.ids), id))
		} else if sent, _ := storage.ID(value, idMember); sent != id {
			const detail = "the body's %s is %s, but the request is for %q"
			return nil, malformed(rawjson.Pointer(idMember), detail, idMember, rawjson.Show(v), rawjson.Shorten(id))
		}
	}
	rules := tx.rules(collection)
	if mode == CreateWithDefaults {
		value = rules.WithDefaults(value)
		if rawjson.Depth(value) > rawjson.MaxDepth {
			const detail = "with the defaults of the schema it would be nested deeper than %d levels"
			return nil, malformed("", detail, rawjson.MaxDepth)
		}
	}
	value, id, invalid, taken := tx.withID(collection, c.ids, value, mode != createKept && rules.ReadOnlyID(), c.has)
	value = tx.stamp(collection, nil, value)
	faults = append(append(faults, invalid...), rules.ForRecord().Check(nil, value, nil)...)
	taken = append(taken, tx.checkUnique(c, value, id, nil, sent)...)
	if err := faultError(faults, taken, sent); err != nil {
		return nil, err
	}
	tx.refer(element{collection, id}, nil, sent)
	return tx.set(collection, id, value), nil
}

// withID returns the value of a new record of a collection with the id, and what is wrong with
// the id. It makes an id of the kind in ids if the value has no id, or if renew is set. The
// function used reports whether a record has an id.
func (tx *Tx) withID(
	collection string, ids idStats, value jsontext.Value, renew bool, used func(id string) bool,
) (_ jsontext.Value, id string, invalid, taken []schema.Fault) {
	member := ids.member
	given, ok := rawjson.Member(value, member)
	if !ok || renew || given.Kind() == 'n' || string(given) == `""` {
		value = rawjson.SetMember(value, member, ids.next(tx.snap.newIDs(collection, ids), used, tx.clock))
	}
	fault := schema.Fault{Pointer: rawjson.Pointer(member)}
	id, ok = storage.ID(value, member)
	if !ok {
		fault.Detail = "an id is a number or a string of at least one character"
		return value, id, []schema.Fault{fault}, nil
	}
	if used(id) {
		fault.Detail = fmt.Sprintf("the id %s is taken", rawjson.Show(given))
		return value, id, nil, []schema.Fault{fault}
	}
	return value, id, nil, nil
}

// target returns a record or, if id is empty, a singular resource. The error wraps ErrNotFound.
func (tx *Tx) target(name, id string) (*Record, error) {
	if id != "" {
		return tx.snap.Get(name, id)
	}
	c := tx.snap.byName[name]
	if c == nil || c.kind != storage.Object {
		return nil, fmt.Errorf("resource %q: %w", name, storage.ErrNotFound)
	}
	return &Record{Value: c.value}, nil
}

// validateAndSet replaces old by value if the fields called names keep the rules, or all fields
// if names is nil. An equal value is not a change.
func (tx *Tx) validateAndSet(
	name string, old *Record, value jsontext.Value, names []string, sent map[string]string, faults []schema.Fault,
) (*Record, error) {
	value = rawjson.Merge(old.Value, tx.stamp(name, old.Value, value), "") // as stores keep it
	rules := tx.rules(name).ForObject()
	if old.ID != "" {
		rules = tx.rules(name).ForRecord()
	}
	faults = append(faults, rules.Check(old.Value, value, names)...)
	if old.ID == "" {
		if err := faultError(faults, nil, sent); err != nil {
			return nil, err
		}
		if !bytes.Equal(old.Value, value) {
			tx.refer(element{name, ""}, old.Value, sent)
			tx.put(&collection{name: name, kind: storage.Object, value: value}, "")
		}
		return &Record{Value: value}, nil
	}
	c := tx.snap.byName[name]
	if names == nil {
		names = tx.rules(name).Unique
	}
	// A value that stays is no conflict, even if an edit by hand has repeated it.
	changed := slices.DeleteFunc(slices.Clone(names), func(field string) bool {
		before, _ := rawjson.Member(old.Value, field)
		after, _ := rawjson.Member(value, field)
		return rawjson.Equal(before, after)
	})
	if err := faultError(faults, tx.checkUnique(c, value, old.ID, changed, sent), sent); err != nil {
		return nil, err
	}
	if bytes.Equal(old.Value, value) {
		return old, nil
	}
	tx.refer(element{name, old.ID}, old.Value, sent)
	return tx.set(name, old.ID, value), nil
}

// stamp returns value, which replaces old, with the times of x-now. All stamps of a Tx have the
// same time.
func (tx *Tx) stamp(name string, old, value jsontext.Value) jsontext.Value {
	now := func() time.Time {
		if tx.time.IsZero() {
			tx.time = tx.clock.now()
		}
		return tx.time
	}
	return tx.rules(name).Stamp(now, old, value)
}

// restore prepares tx to restore earlier values. In a fork, restored values have the earlier order
// of fields, so that nothing differs from before. In the database, restored values have the
// present order of the file.
func (tx *Tx) restore() {
	tx.mustBeLast = true
	tx.exact = tx.history.outer != nil
}

// put sets a top-level field. If c replaces a field, c takes over the order of that field.
// Otherwise c comes before the field called next.
func (tx *Tx) put(c *collection, next string) {
	switch old := tx.snap.byName[c.name]; {
	case tx.exact:
	case old.isArray() && c.isArray():
		is := c.recordList()
		values := valuesOf(is)
		rawjson.MergeElements(valuesOf(old.recordList()), values, c.ids.member)
		for i, r := range is {
			if !bytes.Equal(r.Value, values[i]) {
				c.set(r.ID, values[i])
			}
		}
	case old != nil:
		c.value = rawjson.Merge(old.value, c.value, "")
	}
	c.ids.inherit(tx.snap.idsOf(c.name))
	tx.mine[c.name] = true
	tx.snap.with(c, next)
	after := c.appendJSON(nil)
	tx.changes = append(tx.changes, Change{Collection: c.name, After: after, next: next})
	tx.written += len(after)
}

// withName returns an object with another name for a field or, if to is "", without the field.
// It reports whether the object has the field.
func withName(v jsontext.Value, field, to string) (_ jsontext.Value, has bool) {
	if _, has := rawjson.Member(v, field); !has {
		return v, false
	}
	out := []byte{'{'}
	for quoted, value := range rawjson.Members(v) {
		if !rawjson.NameIs(quoted, field) {
			out = rawjson.AppendQuotedMember(out, quoted, value)
		} else if to != "" {
			out = rawjson.AppendMember(out, to, value)
		}
	}
	return append(out, '}'), true
}

func valuesOf(records []*Record) []jsontext.Value {
	values := make([]jsontext.Value, len(records))
	for i, r := range records {
		values[i] = r.Value
	}
	return values
}

// read returns the body without white space and escapes, with the schema's names of fields;
// sent has the aliases that the client used.
func (tx *Tx) read(collection string, body jsontext.Value) (
	value jsontext.Value, sent map[string]string, faults []schema.Fault, err error,
) {
	if body.Kind() != '{' {
		return nil, nil, nil, malformed("", "a record is a JSON object, not %s", rawjson.KindName(body))
	}
	value, sent, faults = tx.rules(collection).Canonical(rawjson.Unescaped(body))
	return value, sent, faults, nil
}

// keepID returns value with the id of old, spelled as in old. A singular resource has no id.
func keepID(old *Record, value jsontext.Value, idMember string) (jsontext.Value, error) {
	if old.ID == "" {
		return value, nil
	}
	stored, _ := rawjson.Member(old.Value, idMember)
	if v, has := rawjson.Member(value, idMember); has {
		if id, _ := storage.ID(value, idMember); id != old.ID {
			const detail = "the body's %s is %s, but the request is for %q: the id cannot be changed"
			return nil, malformed(rawjson.Pointer(idMember), detail, idMember, rawjson.Show(v), rawjson.Shorten(old.ID))
		}
	}
	return rawjson.SetMember(value, idMember, string(stored)), nil
}

// taken returns a fault for each unique field of value that another record has.
// If names is not nil, only these fields are checked.
func (tx *Tx) taken(c *collection, value jsontext.Value, id string, names []string) []schema.Fault {
	var faults []schema.Fault
	rules := tx.rules(c.name)
	for _, name := range rules.Unique {
		v, ok := rawjson.Member(value, name)
		if !ok || names != nil && !slices.Contains(names, name) {
			continue
		}
		if r := c.uniqueHolder(rules, name, v, id); r != nil {
			detail := fmt.Sprintf("%s is taken by %s", rawjson.Show(v), describe(c.name, r))
			faults = append(faults, schema.Fault{Pointer: rawjson.Pointer(name), Detail: detail})
		}
	}
	return faults
}

// A collision is a record with values of unique fields that another record has, too.
type collision struct {
	element
	names     []string // as for taken
	translate translation
	faults    []schema.Fault
}

// checkUnique is taken for a record that is about to be written. In Do, records may swap values, so
// checkUnique collects collisions, which Do checks after the last operation.
func (tx *Tx) checkUnique(
	c *collection, value jsontext.Value, id string, names []string, sent map[string]string,
) []schema.Fault {
	faults := tx.taken(c, value, id, names)
	if faults == nil || tx.collides == nil {
		return faults
	}
	tx.collides(collision{element{c.name, id}, names, tx.translation(sent), faults})
	return nil
}

func describe(collection string, r *Record) string {
	if storage.IsPositionKey(r.ID) {
		return "a record of " + collection + " without an id of its own"
	}
	return "/" + collection + "/" + r.ID
}

// A pending is a check at the end of the transaction, where the order of writes does not matter. The
// targets of references in a written element must exist, and a deleted record must have no
// restricted references.
type pending struct {
	element
	gone      bool           // whether the element was deleted
	before    jsontext.Value // nil for a new element
	translate translation
}

// Below runs fn, and prefixes the pointers of faults in the values that fn writes: of the faults
// that fn returns, and of the faults found at the end of the Tx.
func (tx *Tx) Below(pointer string, fn func() error) error {
	return tx.moving(func(f schema.Fault) schema.Fault {
		f.Pointer = pointer + f.Pointer
		return f
	}, fn)
}

// moving is Below for faults that move elsewhere.
func (tx *Tx) moving(move translation, fn func() error) error {
	outer := tx.translate
	tx.translate = func(f schema.Fault) schema.Fault { return outer(move(f)) }
	defer func() { tx.translate = outer }()
	return placed(fn(), move)
}

// unmoved is the translation of faults that stay as they are.
func unmoved(f schema.Fault) schema.Fault {
	return f
}

// translation returns the present translation of faults, for a value in which the client used
// the aliases in sent.
func (tx *Tx) translation(sent map[string]string) translation {
	outer := tx.translate
	return func(f schema.Fault) schema.Fault { return outer(renamed(f, sent)) }
}

func moved(f schema.Fault, pointer string) schema.Fault {
	f.Pointer = pointer
	return f
}

// refer notes that an element was written, if the targets of its references must exist or if the Tx
// is of a nested value.
func (tx *Tx) refer(at element, before jsontext.Value, sent map[string]string) {
	must := func(ref schema.Reference) bool { return ref.MustExist }
	if tx.nested == nil && !slices.ContainsFunc(tx.rules(at.collection).References, must) {
		return
	}
	tx.pending = append(tx.pending, pending{element: at, before: before, translate: tx.translation(sent)})
}
