package database

import (
	"fmt"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/jsonpatch"
	"pickup/internal/query"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// Delete deletes a record and returns it. It also deletes the records of the
// collections called children that refer to it by their ForeignKey. Records that
// refer to any of these are handled according to the on-delete of their x-ref. The
// error wraps ErrNotFound, or is a *FaultError that wraps ErrRefers: a record that
// must stay refers to a deleted one.
func (tx *Tx) Delete(collection, id string, children ...string) (*Record, error) {
	old, err := tx.remove(collection, id)
	if err != nil {
		return nil, err
	}
	gone := []element{{collection, id}}
	for _, child := range children {
		if _, err := tx.snap.array(child); err != nil {
			return nil, err
		}
		for _, r := range tx.snap.referring(child, tx.snap.ForeignKey(child, collection), id, false) {
			if storage.IsPositionKey(r.ID) {
				continue // it cannot be addressed
			}
			if _, err := tx.remove(child, r.ID); err != nil {
				return nil, err
			}
			gone = append(gone, element{child, r.ID})
		}
	}
	return old, tx.cascade(gone)
}

// remove deletes a record without looking at references.
func (tx *Tx) remove(collection, id string) (*Record, error) {
	old, err := tx.snap.Get(collection, id)
	if err != nil {
		return nil, err
	}
	c, err := tx.array(collection)
	if err != nil {
		return nil, err
	}
	tx.unset(c, id)
	return old, nil
}

// cascade handles the records that refer to those that are gone, according to the
// schema, and then those that refer to records that it deletes. It looks for
// restrictions last, so the order of collections does not matter. Cycles end
// because records are deleted before others are looked for. The list replaces a
// recursion: a chain of references may be as long as a collection.
func (tx *Tx) cascade(gone []element) error {
	for i := 0; i < len(gone); i++ {
		id := gone[i].id
		for child, ref := range tx.snap.references(gone[i].collection) {
			if ref.OnDelete == schema.Restrict {
				continue
			}
			for _, r := range tx.snap.referring(child, ref.Member, id, true) {
				switch {
				case storage.IsPositionKey(r.ID):
					return refers(child, ref, r)
				case ref.OnDelete == schema.SetNull:
					if err := tx.setNull(child, ref, r, id); err != nil {
						return err
					}
					continue
				}
				if _, err := tx.remove(child, r.ID); err != nil {
					return err
				}
				gone = append(gone, element{child, r.ID})
			}
		}
	}
	for _, g := range gone {
		for child, ref := range tx.snap.references(g.collection) {
			if ref.OnDelete != schema.Restrict {
				continue
			}
			for _, r := range tx.snap.referring(child, ref.Member, g.id, true) {
				return refers(child, ref, r)
			}
		}
	}
	return nil
}

// references yields the references to a collection that have an on-delete, with
// the names of the collections that have them.
func (s *Snapshot) references(collection string) iter.Seq2[string, schema.Reference] {
	return func(yield func(string, schema.Reference) bool) {
		if s.schema == nil {
			return
		}
		for _, child := range slices.Sorted(slices.Values(s.schema.Members())) {
			if !s.byName[child].isArray() {
				continue
			}
			for _, ref := range s.schema.Member(child).References {
				if ref.Collection == collection && ref.OnDelete != "" && !yield(child, ref) {
					return
				}
			}
		}
	}
}

// refers returns the error for a record that still refers to a deleted one.
func refers(child string, ref schema.Reference, r *Record) error {
	return refused(fmt.Sprintf("%s still refers to it by its %s", describe(child, r), ref.Member))
}

func refused(detail string) error {
	return &FaultError{Kind: ErrRefers, Faults: []schema.Fault{{Detail: detail}}}
}

// setNull removes the deleted id from the reference of one record.
func (tx *Tx) setNull(child string, ref schema.Reference, r *Record, id string) error {
	value := tx.stamp(child, r.Value, without(r.Value, ref.Member, id))
	if faults := tx.snap.schema.Member(child).CheckMerge(r.Value, value, []string{ref.Member}); len(faults) > 0 {
		return refused(fmt.Sprintf("the %s of %s cannot become null: %s", ref.Member, describe(child, r), faults[0].Detail))
	}
	c, err := tx.array(child)
	if err != nil {
		return err
	}
	tx.set(c, r.ID, value)
	return nil
}

// without returns value with null instead of id in the field called name, or
// without the element id if that is an array.
func without(value jsontext.Value, name, id string) jsontext.Value {
	v, _ := rawjson.Member(value, name)
	if v.Kind() != '[' {
		return rawjson.SetMember(value, name, "null")
	}
	n := jsonpatch.NewNode(v)
	n.Open()
	n.Kids = slices.DeleteFunc(n.Kids, func(kid *jsonpatch.Node) bool { return query.RefersTo(kid.Value(), id) })
	return rawjson.SetMember(value, name, string(n.Value()))
}
