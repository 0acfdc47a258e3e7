package document

import "pickup/internal/rawjson"

// A record that was given another id on one side is still known by its old id on the
// other. What that side changes would then be merged into the record that has the old
// id now.

// maxAlike is the number of such records that may share a field before the field says
// nothing about which record is which.
const maxAlike = 100

// MovedIDs returns the records, by collection, that seem to have other ids in d than in
// base, and these ids: another record of d that is new or changed has more of the old
// fields than the one with the old id. The id is the same if no field is as it was.
func (d *Document) MovedIDs(base *Document) map[string]map[string]string {
	all, old := make(map[string]map[string]string), base.list()
	for _, it := range d.list().items {
		if was := old.item(it.key); was != nil && was.array != nil && it.array != nil {
			if moved := movedIDs(d.idMember(it.key), was.list(), it.list()); len(moved) > 0 {
				all[it.key] = moved
			}
		}
	}
	return all
}

// Moved describes a record that seems to have another id, as MovedIDs returns it.
func Moved(collection, id, now string) string {
	if id == now {
		return "no field is as it was: was it replaced?"
	}
	return collection + "/" + now + " looks more like what it was: was it renumbered?"
}

func movedIDs(idMember string, b, l *list) map[string]string {
	moved := make(map[string]string)
	fields := make(map[string][]int) // the new and changed records that have a field
	for i, it := range l.items {
		if was := b.item(it.key); was == nil || !sameText(was.value, it.value) {
			for _, f := range fieldsOf(it.value, idMember) {
				fields[f] = append(fields[f], i)
			}
		}
	}
	if len(fields) == 0 {
		return moved
	}
	for _, it := range b.items {
		now := l.item(it.key)
		if now == nil || sameText(it.value, now.value) {
			continue
		}
		kept := make(map[string]bool) // fields under the old id
		for _, f := range fieldsOf(now.value, idMember) {
			kept[f] = true
		}
		most, same, alike := 0, 0, make(map[int]int)
		old := fieldsOf(it.value, idMember)
		for _, f := range old {
			if kept[f] {
				same++
			}
			if len(fields[f]) > maxAlike {
				continue
			}
			if kept[f] {
				most++
			}
			for _, i := range fields[f] {
				alike[i]++
			}
		}
		if same == 0 && len(old) > 2 {
			moved[it.key] = it.key // it was deleted, and a new one has its id
		}
		for i, n := range alike {
			if n > most || n == most && moved[it.key] != "" && i < l.place(moved[it.key]) {
				most, moved[it.key] = n, l.items[i].key
			}
		}
	}
	return moved
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
