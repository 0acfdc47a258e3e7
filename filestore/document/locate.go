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

// Unreachable lists the elements that no URL reaches, in the order of the document, and then the
// numbers that JSON has no form for.
func (d *Document) Unreachable() (found []storage.UnreachableElement) {
	var pointers []string               // of each unreachable element, and of the first element with the id
	var details []func(line int) string // given the line of the first element with the id
	for _, m := range d.members {
		if !m.hasUnreachable() || m.kind() != storage.Array {
			continue
		}
		id := d.idMember(m.name)
		keys := storage.NewKeys(id)
		indexes := make(map[string]int) // of the elements, by id
		n := 0
		for _, e := range m.array.elems.All() {
			i := n
			n++
			v := plain(e.value())
			key := keys.Next(v)
			if !storage.IsPositionKey(key) {
				indexes[key] = i
				continue
			}
			own, _ := storage.ID(v, id)
			pointer := rawjson.Pointer(m.name, strconv.Itoa(i))
			first := rawjson.Pointer(m.name, strconv.Itoa(indexes[own]))
			found = append(found, storage.UnreachableElement{Pointer: pointer})
			pointers = append(pointers, pointer, first)
			details = append(details, func(line int) string { return why(m.name, id, v, line) })
		}
	}
	places := d.Places(pointers)
	for i := range found {
		found[i].Line = places[2*i].Line
		found[i].Column = places[2*i].Column
		found[i].Detail = details[i](places[2*i+1].Line)
	}
	pointers = d.nonFinite()
	for i, place := range d.Places(pointers) {
		line, column, _ := place.Locate(place.Inside)
		found = append(found, storage.UnreachableElement{
			Pointer: pointers[i], Line: line, Column: column,
			Detail: "JSON has no form for this number; it is served as null",
		})
	}
	return found
}

// why explains why no URL reaches the element v of a collection with the ids in the field
// called name. line is the line of the first element with the same id, if any.
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

// UnreachableCount returns the length of Unreachable.
func (d *Document) UnreachableCount() (n int) {
	for _, m := range d.members {
		if m.array != nil {
			n += m.array.unreachable
		}
	}
	return n + len(d.nonFinite())
}

// Places returns the places of pointers, and reads the text once. If a pointer leads to nothing,
// the place is the place of the member, or the top.
func (d *Document) Places(pointers []string) []storage.Place {
	l := &locator{pointers: pointers, at: cursor{line: 1, column: 1}}
	l.at.skip(bytes.TrimPrefix(d.head, byteOrderMark))
	top := l.at.place()
	top.Column = max(1, top.Column-len("{"))
	l.places = slices.Repeat([]storage.Place{top}, len(pointers))

	wanted := make(map[string][]int) // the indexes of pointers, by the name of the member
	for i, p := range pointers {
		if path := rawjson.SplitPointer(p); len(path) > 0 {
			wanted[path[0]] = append(wanted[path[0]], i)
		}
	}
	for _, m := range d.members {
		if len(wanted) == 0 {
			break
		}
		l.at.skip(m.gap)
		l.placeMember(d, m, wanted[m.name])
		l.at.skip(m.label)
		if m.array == nil {
			l.at.skip(m.value)
		} else {
			l.placeElements(m.array, wanted[m.name])
		}
		delete(wanted, m.name)
	}
	return l.places
}

// A locator finds the places of pointers while the cursor moves over a document.
type locator struct {
	pointers []string
	places   []storage.Place
	at       cursor
}

// placeMember sets the wanted places to the member m. The cursor is before the name.
func (l *locator) placeMember(d *Document, m *member, wanted []int) {
	if len(wanted) == 0 {
		return
	}
	place := l.at.place()
	place.Text = m.value
	if m.array != nil {
		place.Text = []byte("[]")
	}
	if d.only == "" {
		place.Column -= len("{")
		place.Text = slices.Concat([]byte("{"), m.label, place.Text)
	}
	for _, i := range wanted {
		place.Inside = l.pointers[i]
		if d.only != "" {
			place.Inside = strings.TrimPrefix(place.Inside, rawjson.Pointer(m.name))
		}
		l.places[i] = place
	}
}

// placeElements sets the wanted places to elements of the array, as far as the elements exist.
// The cursor moves over the array.
func (l *locator) placeElements(a *array, wanted []int) {
	elements := make(map[string][]int) // the wanted indexes, by the index of the element
	for _, i := range wanted {
		if path := rawjson.SplitPointer(l.pointers[i]); len(path) > 1 {
			elements[path[1]] = append(elements[path[1]], i)
		}
	}
	l.at.skip(a.head)
	n := 0
	for _, e := range a.elems.All() {
		l.at.skip(e.before())
		place := l.at.place()
		place.Text = e.value()
		for _, i := range elements[strconv.Itoa(n)] {
			path := rawjson.SplitPointer(l.pointers[i])
			place.Inside = rawjson.Pointer(path[2:]...)
			l.places[i] = place
		}
		l.at.skip(e.value())
		n++
	}
	l.at.skip(a.tail)
	l.at.skip(a.foot)
}

// A cursor is the line and column after skipped text.
type cursor struct{ line, column int }

func (c *cursor) skip(b []byte) {
	if n := breaks(b); n > 0 {
		c.line += n
		c.column = 1
		b = b[bytes.LastIndexByte(b, '\n')+1:]
	}
	c.column += utf8.RuneCount(b)
}

func (c *cursor) place() storage.Place {
	return storage.Place{Line: c.line, Column: c.column}
}
