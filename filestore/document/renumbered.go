package document

import (
	"slices"

	"pickup/internal/rawjson"
)

// If one side gives a record another id, the other side still knows the old id. Changes of the
// other side would then go to the record that has the old id now.

// maxAlike is the maximum number of records that may share a field to identify records by.
const maxAlike = 100

// moved returns the records of base that were probably renumbered in d, keyed by pointer, each
// with a question for the user. A record was probably renumbered if some new or changed record
// shares more fields with it than the record that now has its id, or if the latter shares none.
func moved(base, d *Document) map[string]string {
	all := make(map[string]string)
	old := base.memberList()
	for _, it := range d.memberList().items {
		was := old.item(it.key)
		if was == nil || was.elements == nil || it.elements == nil {
			continue
		}
		for id, now := range movedIDs(d.idMember(it.key), was.list(), it.list()) {
			question := it.key + "/" + now + " looks more like what it was: was it renumbered?"
			if id == now {
				question = "no field is as it was: was it replaced?"
			}
			all[rawjson.Pointer(it.key, id)] = question
		}
	}
	return all
}

// movedIDs returns the new ids in now of renumbered or replaced records of base, by the old id.
func movedIDs(idMember string, base, now *list) map[string]string {
	ids := make(map[string]string)
	having := make(map[string][]string) // ids of the new and changed records, by field
	for _, it := range now.items {
		was := base.item(it.key)
		if was == nil || !sameText(was.value, it.value) {
			for _, f := range fieldsOf(it.value, idMember) {
				having[f] = append(having[f], it.key)
			}
		}
	}
	for _, it := range base.items {
		is := now.item(it.key)
		if is == nil || sameText(it.value, is.value) {
			continue
		}
		old := fieldsOf(it.value, idMember)
		best := mostAlike(old, it.key, having, now)
		kept := fieldsOf(is.value, idMember)
		isKept := func(f string) bool { return slices.Contains(kept, f) }
		replaced := len(old) > 2 && !slices.ContainsFunc(old, isKept)
		if best != it.key || replaced { // it was deleted, and a new record has the id
			ids[it.key] = best
		}
	}
	return ids
}

// mostAlike returns the id of the record that shares the most fields with the record id had
// before. having has the ids of new and changed records by field.
func mostAlike(fields []string, id string, having map[string][]string, now *list) string {
	alike := make(map[string]int)
	for _, f := range fields {
		if len(having[f]) <= maxAlike {
			for _, other := range having[f] {
				alike[other]++
			}
		}
	}
	best := id
	for other, n := range alike {
		if n > alike[best] || n == alike[best] && best != id && now.index(other) < now.index(best) {
			best = other
		}
	}
	return best
}

// fieldsOf returns the fields of a record without the id, each as a name and a value.
func fieldsOf(record []byte, idMember string) (fields []string) {
	if l := cutList(record); l.open == '{' {
		for _, it := range l.items {
			if name := string(it.name()); name != idMember {
				fields = append(fields, name+"\x00"+string(rawjson.Compact(plain(it.value))))
			}
		}
	}
	return fields
}
