package document

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
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
