package document

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Locate returns the line and the column, both from 1 and the column in code
// points, of the value that a JSON Pointer leads to; of a member, those of its
// name. data may have comments, trailing commas and a byte order mark, and must
// be valid up to that value. ok is false if there is no such value.
func Locate(data []byte, pointer string) (line, column int, ok bool) {
	start := 0
	if bytes.HasPrefix(data, byteOrderMark) {
		start = len(byteOrderMark)
	}
	i := gapEnd(data, start)
	at := i
	for token := range jsontext.Pointer(pointer).Tokens() {
		if i >= len(data) {
			return 0, 0, false
		}
		if at, i = into(data, i, token); at < 0 {
			return 0, 0, false
		}
	}
	if i >= len(data) || pointer != "" && pointer[0] != '/' {
		return 0, 0, false
	}
	line, column = rawjson.LineColumn(data, at)
	return line, column, true
}

// into returns the index of the item that token means in the list at i, name
// included, and that of its value. The first is -1 if there is no such item.
func into(data []byte, i int, token string) (at, value int) {
	open := data[i]
	if open != '{' && open != '[' {
		return -1, i
	}
	for n := 0; ; n++ {
		i = gapEnd(data, i+1)
		if i >= len(data) || data[i] == rawjson.Closing(open) {
			return -1, i
		}
		at = i
		name := strconv.Itoa(n)
		if open == '{' {
			i = rawjson.SkipString(data, i)
			if data[at] != '"' || i-at < 2 {
				return -1, i
			}
			name = rawjson.Unquote(data[at:i])
			i = gapEnd(data, i)   // the colon
			i = gapEnd(data, i+1) // the value
		}
		if name == token {
			return at, i
		}
		i = valueEnd(data, i) - 1
	}
}

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
			at.place()
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
	collection = cmp.Or(collection, `""`)
	if v[0] != '{' {
		return fmt.Sprintf("this element of %s is not an object; it is listed, but no URL reaches it", collection)
	}
	id, ok := storage.ID(v, name)
	if ok {
		return fmt.Sprintf("the %s %s is already used on line %d; this element is listed, but no URL reaches it",
			name, rawjson.Shorten(id), lines[id])
	}
	return fmt.Sprintf("this element of %s has no %s that is a number or a string; it is listed, but no URL reaches it",
		collection, name)
}

// Unaddressed returns the number of oddities.
func (d *Document) Unaddressed() (n int) {
	for _, m := range d.members {
		if m.array != nil {
			n += m.array.odd
		}
	}
	return n
}

// A Place is where a JSON Pointer leads in a document: to a top-level member, or to
// an element of one that is an array. Inside is a pointer from there on, or from
// the member's parent: into Text, which begins at the line and column.
type Place struct {
	Line, Column int
	Text         []byte
	Inside       string
}

// Locate returns the line and the column of what a pointer of Text leads to.
func (p Place) Locate(pointer string) (line, column int, ok bool) {
	line, column, ok = Locate(p.Text, pointer)
	if line == 1 {
		column += p.Column - 1
	}
	return line + p.Line - 1, column, ok
}

// Places returns the places of pointers. It reads the text once. A pointer to what
// is not there leads to the member, or to the top.
func (d *Document) Places(pointers []string) []Place {
	type target struct{ i, element int } // of places; the index, or -1
	places, wanted := make([]Place, len(pointers)), make(map[string][]target)
	at := cursor{line: 1, column: 1}
	at.skip(bytes.TrimPrefix(d.head, byteOrderMark))
	top := at.place()
	top.Column -= len("{")
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
		if delete(wanted, m.name); len(list) > 0 {
			place, value := at.place(), m.value
			if m.array != nil {
				value = []byte("[]")
			}
			place.Column -= len("{")
			place.Text = slices.Concat([]byte("{"), m.label, value)
			for _, t := range list {
				place.Inside = pointers[t.i]
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

// A cursor is the line and column after the text that it has skipped, but for run.
type cursor struct {
	line, column int
	run          []byte // skipped parts that follow each other in memory
}

func (c *cursor) skip(b []byte) {
	switch {
	case len(b) == 0:
	case follows(c.run, b):
		c.run = c.run[: len(c.run)+len(b) : cap(c.run)]
	default:
		c.place()
		c.run = b
	}
}

// place returns the line and column after all that was skipped.
func (c *cursor) place() Place {
	b := c.run
	if n := breaks(b); n > 0 {
		c.line += n
		c.column = 1
		b = b[bytes.LastIndexByte(b, '\n')+1:]
	}
	c.column += utf8.RuneCount(b)
	c.run = nil
	return Place{Line: c.line, Column: c.column}
}
