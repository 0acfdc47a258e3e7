package document

import (
	"slices"

	"pickup/internal/rawjson"
)

// A record that was given another id on one side is still known by its old id on the
// other. What that side changes would then be merged into the record that has the old
// id now.

// maxAlike is the number of records that may share a field before the field says nothing
// about which record is which.
const maxAlike = 100

// moved returns, by their pointers, the records of base that seem to have another id in
// d, with a sentence that says so. Another record that is new or changed has more of the
// old fields than the one with the old id, or that one has none of them.
func moved(base, d *Document) map[string]string {
	all, old := make(map[string]string), base.memberList()
	for _, it := range d.memberList().items {
		if was := old.item(it.key); was != nil && was.elements != nil && it.elements != nil {
			for id, now := range movedIDs(d.idMember(it.key), was.list(), it.list()) {
				all[rawjson.Pointer(it.key, id)] = it.key + "/" + now + " looks more like what it was: was it renumbered?"
				if id == now {
					all[rawjson.Pointer(it.key, id)] = "no field is as it was: was it replaced?"
				}
			}
		}
	}
	return all
}

// movedIDs returns the ids in l of the records of b that have another id, or that another
// record has replaced.
func movedIDs(idMember string, b, l *list) map[string]string {
	ids := make(map[string]string)
	having := make(map[string][]string) // the new and changed records by their fields
	for _, it := range l.items {
		if was := b.item(it.key); was == nil || !sameText(was.value, it.value) {
			for _, f := range fieldsOf(it.value, idMember) {
				having[f] = append(having[f], it.key)
			}
		}
	}
	for _, it := range b.items {
		now := l.item(it.key)
		if now == nil || sameText(it.value, now.value) {
			continue
		}
		kept, none, alike := fieldsOf(now.value, idMember), true, make(map[string]int)
		old := fieldsOf(it.value, idMember)
		for _, f := range old {
			none = none && !slices.Contains(kept, f)
			if len(having[f]) <= maxAlike {
				for _, id := range having[f] {
					alike[id]++
				}
			}
		}
		best := it.key
		for id, n := range alike {
			if n > alike[best] || n == alike[best] && best != it.key && l.place(id) < l.place(best) {
				best = id
			}
		}
		if best != it.key || none && len(old) > 2 { // it was deleted, and a new one has its id
			ids[it.key] = best
		}
	}
	return ids
}

// fieldsOf returns the fields of a record apart from its id, each as its name and its
// value.
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
