package etcdstore

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// An op puts a key under the prefix, or deletes a key or a range of keys.
type op struct {
	key   string
	end   string // of a range, exclusive
	value []byte // nil: delete
	keys  int    // the number of keys that change
}

func put(key string, value []byte) op { return op{key: key, value: value, keys: 1} }
func del(key string) op               { return op{key: key, keys: 1} }

// A plan collects the net effect of changes on each key.
type plan struct {
	state    *state
	idField  func(collection string) string
	fields   map[string]*fieldChange
	order    []string // of the fields, by first change
	nextRank uint64   // of a new field
}

// A fieldChange is the new state of a top-level field that changes touch. Its places are
// those before the changes, or nil if the whole field was replaced.
type fieldChange struct {
	field
	old     *field // nil: a new field
	deleted bool
	whole   bool            // the whole field was replaced or deleted
	value   jsontext.Value  // of an Object or Other
	records map[string]pair // the changed records, by key
}

// newPlan returns the plan of changes to a state.
func newPlan(st *state, idField func(string) string, changes []storage.Change) (*plan, error) {
	p := &plan{
		state:    st,
		idField:  idField,
		fields:   make(map[string]*fieldChange),
		nextRank: st.nextRank,
	}
	for _, ch := range changes {
		if err := p.add(ch); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// field returns the top-level field called name, as of the changes so far.
func (p *plan) field(name string) *fieldChange {
	f := p.fields[name]
	if f == nil {
		f = &fieldChange{old: p.state.fields[name], records: make(map[string]pair)}
		if f.old != nil {
			f.field = *f.old
		}
		f.deleted = f.old == nil
		p.fields[name] = f
		p.order = append(p.order, name)
	}
	return f
}

// add adds a change.
func (p *plan) add(ch storage.Change) error {
	f := p.field(ch.Collection)
	switch {
	case ch.ID == "" && ch.Value == nil:
		f.deleted = true
		f.clear()
	case ch.ID == "":
		p.replace(f, ch)
	case f.deleted || f.kind != storage.Array:
		return fmt.Errorf("collection %q: %w", ch.Collection, storage.ErrNotFound)
	default:
		f.set(ch.ID, ch.Value)
	}
	return nil
}

// replace replaces a whole field, or adds a new one.
func (p *plan) replace(f *fieldChange, ch storage.Change) {
	if f.deleted {
		f.rank = p.rankOf(ch.Collection)
	}
	f.deleted = false
	f.clear()
	f.kind = storage.KindOf(ch.Collection, ch.Value)
	if f.kind != storage.Array {
		f.value = ch.Value
		return
	}
	f.idField = p.idField(ch.Collection)
	keys := storage.NewKeys(f.idField)
	for v := range rawjson.Elements(ch.Value) {
		f.set(keys.Next(v), v)
	}
}

// rankOf returns the rank of a new field. $schema is the first field in the file.
func (p *plan) rankOf(name string) uint64 {
	if name == "$schema" {
		return 0
	}
	rank := p.nextRank
	p.nextRank++
	return rank
}

// clear removes the contents of the field.
func (f *fieldChange) clear() {
	f.whole = true
	f.value = nil
	f.places = nil
	clear(f.records)
}

// set sets a record, or deletes it if value is nil. A new record gets the next place.
func (f *fieldChange) set(key string, value jsontext.Value) {
	r, changed := f.records[key]
	exists := r.value != nil
	if !changed {
		r.at, exists = f.places[key]
	}
	if !exists {
		if value == nil {
			return
		}
		r.at = f.nextPlace
		f.nextPlace++
	}
	f.records[key] = pair{at: r.at, name: key, value: value}
}

// ops returns the operations, and the names of the collections that were replaced as a whole.
func (p *plan) ops() (ops []op, whole []string) {
	for _, name := range p.order {
		f := p.fields[name]
		ops = append(ops, f.deleteOps(name)...)
		if f.deleted {
			continue
		}
		if f.kind != storage.Array {
			ops = append(ops, put(fieldKey(f.rank, name), f.value))
			continue
		}
		if f.whole {
			whole = append(whole, name)
		}
		// Write the key even if the value is the same: its revision is the collection's.
		ops = append(ops, put(fieldKey(f.rank, name), collectionValue(f.idField)))
		ops = append(ops, f.recordOps(name)...)
	}
	return ops, whole
}

// deleteOps returns the operations that delete the old records and the old key of the
// field, as far as they are replaced as a whole.
func (f *fieldChange) deleteOps(name string) (ops []op) {
	if f.old == nil {
		return nil
	}
	if f.whole && len(f.old.places) > 0 {
		from := recordsOf(name)
		ops = append(ops, op{key: from, end: from + padded(f.old.nextPlace, placeDigits), keys: len(f.old.places)})
	}
	if f.deleted || f.rank != f.old.rank {
		ops = append(ops, del(fieldKey(f.old.rank, name)))
	}
	return ops
}

// recordOps returns the operations for the changed records of a collection, by place.
func (f *fieldChange) recordOps(name string) (ops []op) {
	for _, r := range slices.SortedFunc(maps.Values(f.records), pair.compare) {
		old, ok := f.places[r.name]
		if ok && (r.value == nil || old != r.at) {
			ops = append(ops, del(recordKey(name, old, r.name)))
		}
		if r.value != nil {
			ops = append(ops, put(recordKey(name, r.at, r.name), r.value))
		}
	}
	return ops
}

// countKeys returns the number of keys that ops put or delete.
func countKeys(ops []op) (n int) {
	for _, o := range ops {
		n += o.keys
	}
	return n
}
