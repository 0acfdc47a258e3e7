package pickup

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// What becomes of the records that refer to one that is deleted: x-ref says it
// with its on-delete. Where it says nothing they are left alone, as in a flat
// file.
const (
	onDeleteRestrict = "restrict" // the delete is refused while there are any
	onDeleteCascade  = "cascade"  // they are deleted too
	onDeleteSetNull  = "set-null" // their reference becomes null
)

var onDeletes = []string{onDeleteCascade, onDeleteRestrict, onDeleteSetNull}

// Delete takes a record out and returns it. With those that refer to it goes
// what the schema says. The error wraps ErrNotFound, or is a *FaultError that
// wraps ErrRefers where one that refers to it forbids that.
func (tx *Tx) Delete(collection, id string) (*Record, error) {
	old, err := tx.drop(collection, id)
	if err != nil {
		return nil, err
	}
	return old, tx.release(collection, id)
}

// DeleteChildren deletes those records of child that refer to the record of
// parent with that id, by their ForeignKey, and returns how many. Ids are
// compared as text. Errors are as Delete's.
func (tx *Tx) DeleteChildren(child, parent, id string) (int, error) {
	if _, err := tx.snap.array(child); err != nil {
		return 0, err
	}
	n := 0
	for _, r := range tx.snap.referring(child, tx.snap.ForeignKey(child, parent), id) {
		if IsPositionKey(r.ID) {
			continue // no request reaches it
		}
		if _, err := tx.snap.Get(child, r.ID); err != nil {
			continue // gone with one before it
		}
		if _, err := tx.Delete(child, r.ID); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// drop takes a record out and asks nobody.
func (tx *Tx) drop(collection, id string) (*Record, error) {
	old, err := tx.snap.Get(collection, id)
	if err != nil {
		return nil, err
	}
	c, err := tx.array(collection)
	if err != nil {
		return nil, err
	}
	c.remove(id)
	tx.changes = append(tx.changes, Change{Collection: collection, ID: id})
	return old, nil
}

// release does what the schema says with the records that refer to one that is
// no longer there. A circle of references ends where it began, because what is
// deleted is out before those that refer to it are looked for.
func (tx *Tx) release(collection, id string) error {
	if tx.snap.schema == nil {
		return nil
	}
	for _, child := range slices.Sorted(maps.Keys(tx.snap.schema.rules)) {
		if _, err := tx.snap.array(child); err != nil {
			continue
		}
		for _, ref := range tx.snap.schema.rules[child].refs {
			if ref.collection != collection || ref.onDelete == "" {
				continue
			}
			for _, r := range tx.snap.holding(child, ref.member, id) {
				if err := tx.let(child, ref, r, id); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// let does what ref says with one record that refers to what is gone.
func (tx *Tx) let(child string, ref reference, r *Record, id string) error {
	refuse := func(detail string) error {
		return &FaultError{Kind: ErrRefers, Faults: []Fault{{Detail: detail}}}
	}
	switch {
	case ref.onDelete == onDeleteRestrict, IsPositionKey(r.ID):
		return refuse(fmt.Sprintf("%s still refers to it by its %s", describe(child, r), ref.member))
	case ref.onDelete == onDeleteCascade:
		if _, err := tx.snap.Get(child, r.ID); err != nil {
			return nil // gone with another one
		}
		_, err := tx.Delete(child, r.ID)
		return err
	}
	now, err := tx.snap.Get(child, r.ID)
	if err != nil {
		return nil
	}
	value := without(now.Value, ref.member, id)
	if faults := tx.snap.schema.checkMerge(child, now.Value, value, []string{ref.member}); len(faults) > 0 {
		return refuse(fmt.Sprintf("the %s of %s cannot become null: %s", ref.member, describe(child, r), faults[0].Detail))
	}
	c, err := tx.array(child)
	if err != nil {
		return err
	}
	tx.set(c, r.ID, value)
	return nil
}

// without returns a record whose member refers to id no longer: it is null, or
// if it is an array it has lost that element.
func without(value jsontext.Value, name, id string) jsontext.Value {
	v, _ := member(value, name)
	if v.Kind() != '[' {
		return withMember(value, name, "null")
	}
	n := &node{text: v}
	n.open()
	n.kids = slices.DeleteFunc(n.kids, func(kid *node) bool { return refersTo(kid.text, id) })
	return withMember(value, name, string(n.value()))
}

// holding returns the records of a collection of which the member called name
// is that id, or an array with it.
func (s *Snapshot) holding(collection, name, id string) []*Record {
	c := s.byName[collection]
	keys := newOperand(id).keys()
	found, _ := find(c.indexes.get(name, c.order), keys, c.order.Len()*len(keys))
	return slices.DeleteFunc(found, func(r *Record) bool {
		v, _ := member(r.Value, name)
		holds := refersTo(v, id)
		elements(v, func(e jsontext.Value) bool {
			holds = holds || refersTo(e, id)
			return !holds
		})
		return !holds
	})
}

// refersTo reports whether the scalar v is that id as text.
func refersTo(v jsontext.Value, id string) bool {
	switch v.Kind() {
	case '0':
		return string(v) == id
	case '"':
		return text(v) == id
	}
	return false
}
