package document

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Unreachable lists the elements that no URL reaches, in the order of the document.
func (d *Document) Unreachable() (found []storage.UnreachableElement) {
	var pointers []string               // of each element that is found, and of the one with its id
	var details []func(line int) string // given the line of that one
	for _, m := range d.members {
		if !m.hasUnreachable() || m.kind() != storage.Array {
			continue
		}
		id, n := d.idMember(m.name), 0
		keys, indexes := storage.NewKeys(id), make(map[string]int) // of the elements by id
		for _, e := range m.array.elems.All() {
			v := plain(e.value())
			if key := keys.Next(v); storage.IsPositionKey(key) {
				own, _ := storage.ID(v, id)
				pointer := rawjson.Pointer(m.name, strconv.Itoa(n))
				found = append(found, storage.UnreachableElement{Pointer: pointer})
				pointers = append(pointers, pointer, rawjson.Pointer(m.name, strconv.Itoa(indexes[own])))
				details = append(details, func(line int) string { return why(m.name, id, v, line) })
			} else {
				indexes[key] = n
			}
			n++
		}
	}
	places := d.Places(pointers)
	for i := range found {
		found[i].Line, found[i].Column = places[2*i].Line, places[2*i].Column
		found[i].Detail = details[i](places[2*i+1].Line)
	}
	return found
}

// why returns why no URL reaches the element v of a collection whose ids are in
// the member called name. line is where the element with its id is, if there is one.
func why(collection, name string, v []byte, line int) string {
	collection = cmp.Or(collection, `""`)
	if v[0] != '{' {
		return fmt.Sprintf("this element of %s is not an object; it is listed, but no URL reaches it", collection)
	}
	id, ok := storage.ID(v, name)
	if ok {
		return fmt.Sprintf("the %s %s is already used on line %d; this element is listed, but no URL reaches it",
			name, rawjson.Shorten(id), line)
	}
	return fmt.Sprintf("this element of %s has no %s that is a number or a string; it is listed, but no URL reaches it",
		collection, name)
}

// UnreachableCount returns the number of elements that no URL reaches.
func (d *Document) UnreachableCount() (n int) {
	for _, m := range d.members {
		if m.array != nil {
			n += m.array.unreachable
		}
	}
	return n
}

// Places returns the places of pointers. It reads the text once. A pointer to what
// is not there leads to the member, or to the top.
func (d *Document) Places(pointers []string) []storage.Place {
	type target struct{ i, element int } // of places; the index, or -1
	places, wanted := make([]storage.Place, len(pointers)), make(map[string][]target)
	at := cursor{line: 1, column: 1}
	at.skip(bytes.TrimPrefix(d.head, byteOrderMark))
	top := at.place()
	top.Column = max(1, top.Column-len("{"))
	for i, p := range pointers {
		places[i] = top
		if path := rawjson.SplitPointer(p); len(path) > 0 {
			t := target{i, -1}
			if len(path) > 1 && rawjson.IsIndex(path[1]) {
				t.element, _ = strconv.Atoi(path[1])
			}
			wanted[path[0]] = append(wanted[path[0]], t)
		}
	}
	for _, m := range d.members {
		at.skip(m.gap)
		list := wanted[m.name]
		slices.SortFunc(list, func(a, b target) int { return cmp.Compare(a.element, b.element) })
		delete(wanted, m.name)
		if len(list) > 0 {
			place, value := at.place(), m.value
			if m.array != nil {
				value = []byte("[]")
			}
			place.Text = value
			if d.only == "" {
				place.Column -= len("{")
				place.Text = slices.Concat([]byte("{"), m.label, value)
			}
			for _, t := range list {
				place.Inside = pointers[t.i]
				if d.only != "" {
					place.Inside = strings.TrimPrefix(place.Inside, rawjson.Pointer(m.name))
				}
				places[t.i] = place
			}
		}
		at.skip(m.label)
		if m.array == nil {
			at.skip(m.value)
			continue
		}
		at.skip(m.array.head)
		n := 0
		for _, e := range m.array.elems.All() {
			for len(list) > 0 && list[0].element < n {
				list = list[1:]
			}
			if len(list) == 0 && len(wanted) == 0 {
				return places
			}
			if len(list) > 0 && list[0].element == n {
				at.skip(e.before())
				here := at.place()
				here.Text = e.value()
				for ; len(list) > 0 && list[0].element == n; list = list[1:] {
					place := here
					if parts := strings.SplitN(pointers[list[0].i], "/", 4); len(parts) == 4 {
						place.Inside = "/" + parts[3]
					}
					places[list[0].i] = place
				}
				at.skip(e.value())
			} else {
				at.skip(e.text)
			}
			n++
		}
		at.skip(m.array.tail)
		at.skip(m.array.foot)
	}
	return places
}

// A cursor is the line and column after the text that it has skipped.
type cursor struct{ line, column int }

func (c *cursor) skip(b []byte) {
	if n := breaks(b); n > 0 {
		c.line, c.column = c.line+n, 1
		b = b[bytes.LastIndexByte(b, '\n')+1:]
	}
	c.column += utf8.RuneCount(b)
}

func (c *cursor) place() storage.Place { return storage.Place{Line: c.line, Column: c.column} }
