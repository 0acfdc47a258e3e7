package database

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/query"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// checkReferences returns a *FaultError if references are wrong. It reports references of written
// elements to missing records, if the rules require the record, unless the element had the same
// reference before. It also reports restricted references to deleted records.
func (tx *Tx) checkReferences() error {
	var all FaultError
	for _, w := range tx.pending {
		value := tx.snap.valueAt(w.element)
		if w.gone != (value == nil) { // deleted again, or created again
			continue
		}
		if w.gone {
			if err := all.Add(placed(tx.restricted(w.element), w.translate)); err != nil {
				return err
			}
			continue
		}
		for pointer, v := range tx.snap.unresolved(w.collection, value) {
			if v.ref.MustExist && !holdsReference(w.before, v.ref.Member, v.id) {
				near := tx.snap.nearestIDs(v.ref.Collection, v.id, w.element)
				fault := faultAt(storage.ErrInvalid, pointer, "%s%s", v.detail(), near)
				if err := all.Add(placed(fault, w.translate)); err != nil {
					return err
				}
			}
		}
	}
	if all.Kind == nil {
		return nil
	}
	return &all
}

// holdsReference reports whether the field of a record refers to an id. record may be nil.
func holdsReference(record jsontext.Value, member, id string) bool {
	v, _ := rawjson.Member(record, member)
	for e := range rawjson.Elements(v) {
		if query.RefersTo(e, id) {
			return true
		}
	}
	return query.RefersTo(v, id)
}

// A dangling is a reference to a missing record.
type dangling struct {
	ref   schema.Reference
	id    string
	value jsontext.Value
}

func (d dangling) detail() string {
	return fmt.Sprintf("%s is the id of no record in %s", rawjson.Show(d.value), d.ref.Collection)
}

// unresolved yields the references of an element to missing records, with pointers into the
// element.
func (s *Snapshot) unresolved(collection string, value jsontext.Value) iter.Seq2[string, dangling] {
	return func(yield func(string, dangling) bool) {
		for _, ref := range s.schema.Member(collection).References {
			leadsNowhere := func(v jsontext.Value) (d dangling, ok bool) {
				id, ok := rawjson.Text(v)
				if !ok {
					return d, false
				}
				_, err := s.Get(ref.Collection, id)
				return dangling{ref, id, v}, err != nil
			}
			v, _ := rawjson.Member(value, ref.Member)
			if d, ok := leadsNowhere(v); ok && !yield(rawjson.Pointer(ref.Member), d) {
				return
			}
			i := 0
			for e := range rawjson.Elements(v) {
				if d, ok := leadsNowhere(e); ok && !yield(fmt.Sprintf("%s/%d", rawjson.Pointer(ref.Member), i), d) {
					return
				}
				i++
			}
		}
	}
}

// Limits of nearestIDs.
const (
	maxNear     = 3     // suggested ids
	maxCompared = 10000 // compared ids
)

// nearestIDs returns the end of a sentence with the ids nearest to an unknown id. It leaves out the
// refused record.
func (s *Snapshot) nearestIDs(collection, id string, refused element) string {
	var ids []string
	for r := range s.All(collection) {
		isRefused := refused == element{collection, r.ID}
		if !isRefused && !storage.IsPositionKey(r.ID) && len(ids) < maxCompared {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	near := spell.NearestIDs(id, ids)
	near = near[:min(maxNear, len(near))]
	for i := range near {
		near[i] = rawjson.Shorten(near[i])
	}
	return "; nearest ids: " + strings.Join(near, ", ")
}

// Delete deletes and returns a record. In the collections called children, Delete also deletes the
// records with a ForeignKey to the deleted record. Other references to deleted records are handled
// according to the on-delete of the x-ref. The error wraps ErrNotFound, or is a *FaultError that
// wraps ErrRefers if a reference cannot be removed. If a reference restricts the deletion, the end
// of the Tx returns that error.
func (tx *Tx) Delete(collection, id string, children ...string) (*Record, error) {
	old, err := tx.snap.Get(collection, id)
	if err != nil {
		return nil, err
	}
	tx.unset(collection, id)
	gone := []element{{collection, id}}
	for _, child := range children {
		if _, err := tx.snap.array(child); err != nil {
			return nil, err
		}
		for _, r := range tx.snap.referring(child, tx.snap.ForeignKey(child, collection), id, false) {
			if storage.IsPositionKey(r.ID) {
				continue // the record cannot be addressed
			}
			tx.unset(child, r.ID)
			gone = append(gone, element{child, r.ID})
		}
	}
	return old, tx.cascade(gone)
}

// cascade handles references to deleted records according to the schema, including references to
// records deleted by cascade. The end of the Tx checks restrictions. Cycles end because cascade
// deletes a record before the search for references. The list replaces a recursion: a chain of
// references may be as long as a collection.
func (tx *Tx) cascade(gone []element) error {
	for i := 0; i < len(gone); i++ {
		id := gone[i].id
		tx.pending = append(tx.pending, pending{element: gone[i], gone: true, translate: tx.translate})
		for child, ref := range tx.snap.references(gone[i].collection) {
			if ref.OnDelete == schema.Restrict {
				continue
			}
			for _, r := range tx.snap.referring(child, ref.Member, id, true) {
				if storage.IsPositionKey(r.ID) {
					return refers(child, ref, r)
				}
				if ref.OnDelete == schema.SetNull {
					if err := tx.setNull(child, ref, r, id); err != nil {
						return err
					}
					continue
				}
				tx.unset(child, r.ID)
				gone = append(gone, element{child, r.ID})
			}
		}
	}
	return nil
}

// restricted returns an error if a restricted reference to a deleted record is left, or nil.
func (tx *Tx) restricted(gone element) error {
	for child, ref := range tx.snap.references(gone.collection) {
		if ref.OnDelete != schema.Restrict {
			continue
		}
		for _, r := range tx.snap.referring(child, ref.Member, gone.id, true) {
			return refers(child, ref, r)
		}
	}
	return nil
}

// references yields the references to a collection with an on-delete, and the names of the
// referring collections.
func (s *Snapshot) references(collection string) iter.Seq2[string, schema.Reference] {
	return func(yield func(string, schema.Reference) bool) {
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

// refers returns the error for a record with a reference to a deleted record.
func refers(child string, ref schema.Reference, r *Record) error {
	return faultAt(ErrRefers, "", "%s still refers to it by its %s", describe(child, r), ref.Member)
}

// setNull removes the deleted id from the reference of one record.
func (tx *Tx) setNull(child string, ref schema.Reference, r *Record, id string) error {
	value := tx.stamp(child, r.Value, without(r.Value, ref.Member, id))
	rules := tx.rules(child).ForRecord()
	if faults := rules.Check(r.Value, value, []string{ref.Member}); len(faults) > 0 {
		return faultAt(ErrRefers, "", "the %s of %s cannot become null: %s",
			ref.Member, describe(child, r), faults[0].Detail)
	}
	tx.set(child, r.ID, value)
	return nil
}

// without returns value with null instead of id in the field called name. From an array, without
// removes the element id.
func without(value jsontext.Value, name, id string) jsontext.Value {
	v, _ := rawjson.Member(value, name)
	if v.Kind() != '[' {
		return rawjson.SetMember(value, name, "null")
	}
	rest := []byte{'['}
	for e := range rawjson.Elements(v) {
		if !query.RefersTo(e, id) {
			rest = append(rawjson.AppendComma(rest), e...)
		}
	}
	return rawjson.SetMember(value, name, string(append(rest, ']')))
}

// referring returns, in order, the records of a collection whose field called key equals id. If
// lists is set, referring also returns records with an array that contains id.
func (s *Snapshot) referring(collection, key, id string, lists bool) []*Record {
	c := s.byName[collection]
	if !c.indexes.occurs(key) {
		return nil
	}
	keys := query.KeysOf(id)
	found, _ := c.indexes.equality(key, true).find(keys, c.records.Len()*len(keys))
	return slices.DeleteFunc(found, func(r *Record) bool {
		if lists {
			return !holdsReference(r.Value, key, id)
		}
		v, _ := rawjson.Member(r.Value, key)
		return !query.RefersTo(v, id)
	})
}
