package database

import (
	"fmt"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/query"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// checkReferences returns a *FaultError for the references of written elements that must
// exist and lead nowhere, or nil. One that an element had before is not judged.
func (tx *Tx) checkReferences() error {
	var all []schema.Fault
	for _, w := range tx.referrers {
		value := tx.snap.valueAt(w.element)
		if value == nil { // deleted again
			continue
		}
		for pointer, v := range tx.snap.unresolved(w.collection, value) {
			if v.ref.MustExist && !holdsReference(w.before, v.ref.Member, v.id) {
				all = append(all, w.place(schema.Fault{Pointer: pointer, Detail: v.detail() + tx.snap.nearestIDs(v.ref.Collection, v.id, w.element)}))
			}
		}
	}
	return faultError(all, nil, nil)
}

// holdsReference reports whether the field of a record refers to an id. record may be
// nil.
func holdsReference(record jsontext.Value, member, id string) bool {
	v, _ := rawjson.Member(record, member)
	for e := range rawjson.Elements(v) {
		if query.RefersTo(e, id) {
			return true
		}
	}
	return query.RefersTo(v, id)
}

// A dangling is a reference to a record that does not exist.
type dangling struct {
	ref   schema.Reference
	id    string
	value jsontext.Value
}

func (d dangling) detail() string {
	return fmt.Sprintf("%s is the id of no record in %s", rawjson.Show(d.value), d.ref.Collection)
}

// unresolved yields the references of an element to records that do not exist, with
// pointers into the element.
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

// maxNear is the number of ids that nearestIDs suggests, and maxCompared of those that it
// looks at.
const (
	maxNear     = 3
	maxCompared = 10000
)

// nearestIDs returns the end of a sentence with the ids of a collection that are nearest
// to one that it does not have, except the id of the record that is refused.
func (s *Snapshot) nearestIDs(collection, id string, refused element) string {
	var ids []string
	self := false
	for r := range s.All(collection) {
		switch {
		case refused == element{collection, r.ID}:
			self = true
		case !storage.IsPositionKey(r.ID) && len(ids) < maxCompared:
			ids = append(ids, r.ID)
		}
	}
	switch {
	case len(ids) == 0 && self:
		return ""
	case len(ids) == 0:
		return ", which has none"
	case len(ids) == 1 && self:
		return "; the nearest id is " + rawjson.Shorten(ids[0])
	case len(ids) == 1:
		return "; the only id is " + rawjson.Shorten(ids[0])
	}
	near := spell.NearestIDs(id, ids)
	near = near[:min(maxNear, len(near))]
	for i := range near {
		near[i] = rawjson.Shorten(near[i])
	}
	return "; the nearest ids are " + strings.Join(near, ", ")
}
