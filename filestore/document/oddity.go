package document

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// An Oddity is an element of a file that is listed but that no URL reaches. It is
// probably a mistake.
type Oddity struct {
	Line, Column int    // of the element, from 1; the column counts code points
	Pointer      string // RFC 6901, from the top of the file
	Detail       string // what is odd and what it means, one sentence
}

// Oddities returns the oddities in the order of the document.
func (d *Document) Oddities() []Oddity {
	if !slices.ContainsFunc(d.members, (*member).unaddressed) {
		return nil
	}
	var found []Oddity
	at := cursor{line: 1, column: 1}
	at.skip(bytes.TrimPrefix(d.head, byteOrderMark))
	for _, m := range d.members {
		at.skip(m.gap)
		at.skip(m.label)
		if m.array == nil || m.kind() != storage.Array {
			at.skip(m.text())
			continue
		}
		id := d.idMember(m.name)
		at.skip(m.array.head)
		keys := storage.NewKeys(id)
		lines := make(map[string]int) // of the elements by id
		n := 0
		for _, e := range m.array.elems.All() {
			at.skip(e.before())
			v := plain(e.value())
			key := keys.Next(v)
			if storage.IsPositionKey(key) {
				found = append(found, Oddity{
					Line: at.line, Column: at.column,
					Pointer: rawjson.Pointer(m.name, strconv.Itoa(n)),
					Detail:  why(m.name, id, v, lines),
				})
			} else {
				lines[key] = at.line
			}
			at.skip(e.value())
			n++
		}
		at.skip(m.array.tail)
		at.skip(m.array.foot)
	}
	return found
}

// unaddressed reports whether the member has elements that no URL reaches.
func (m *member) unaddressed() bool { return m.array != nil && m.array.odd > 0 }

// why returns why no URL reaches the element v of a collection whose ids are in
// the member called name.
func why(collection, name string, v []byte, lines map[string]int) string {
	if v[0] != '{' {
		return fmt.Sprintf("this element of %s is not an object; it is listed, but no URL reaches it", collection)
	}
	id, ok := storage.ID(v, name)
	if ok {
		return fmt.Sprintf("the %s %s is already used in line %d; this element is listed, but no URL reaches it",
			name, rawjson.Shorten(id), lines[id])
	}
	return fmt.Sprintf("this element of %s has no %s that is a number or a string; it is listed, but no URL reaches it",
		collection, name)
}

// A cursor is the line and column after the text that it has skipped.
type cursor struct{ line, column int }

func (c *cursor) skip(b []byte) {
	if n := breaks(b); n > 0 {
		c.line += n
		c.column = 1
		b = b[bytes.LastIndexByte(b, '\n')+1:]
	}
	c.column += utf8.RuneCount(b)
}
