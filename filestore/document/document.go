package document

import (
	"bytes"
	"io"
	"slices"

	"pickup/internal/ordered"
	"pickup/internal/storage"

	"github.com/go-json-experiment/json/jsontext"
)

// A Document is a db.json as it lies on disk: every byte of it, cut where its
// members and the elements of its arrays begin and end. It never changes;
// apply returns the next one, which shares the bytes that stayed.
//
// All byte slices are pieces of the text that was parsed or of texts that
// edits made. Nobody writes into them.
type Document struct {
	idMember func(collection string) string

	head    []byte    // up to the opening brace: a byte order mark, white space, comments
	members []*member // in the order of the file
	tail    []byte    // what stands between the last member and the closing brace
	foot    []byte    // the closing brace and the rest
	length  int64     // of the whole text, in bytes
	most    int64     // its greatest length since no piece is older: so much may stay in memory for few of them
	style   style     // of the top level, when it was parsed
	strict  bool      // the text is plain JSON, and so are all of its parts
}

// A member is a top-level member of a document.
type member struct {
	gap   []byte // what stands before its name: a comma, white space, comments
	label []byte // its name as it is spelled, the colon, and what is around that
	name  string
	value []byte // where it is no array
	array *array // else
}

// An array is the value of a top-level member. Its elements have places: see
// ordered.Map.
type array struct {
	head   []byte                // the opening bracket
	elems  *ordered.Map[element] // by key
	odd    int                   // how many keys are position keys
	tail   []byte                // what stands between the last element and the bracket
	foot   []byte                // the closing bracket
	before []byte                // where it has no elements: the array with the last that it had
}

// An element of an array, with the gap before it.
type element struct {
	key   string
	text  []byte // gap and value
	gap   uint32 // how much of text is the gap
	tight bool   // the value is known to have no white space between its tokens, and no comment
}

func (e element) before() []byte { return e.text[:e.gap:e.gap] }
func (e element) value() []byte  { return e.text[e.gap:len(e.text):len(e.text)] }

// clone returns a copy that can be changed without changing a.
func (a *array) clone() *array {
	b := *a
	b.elems = a.elems.Copy()
	return &b
}

// begin returns the first element of an array that has some.
func (a *array) begin() element {
	e, _ := a.elems.At(a.elems.Nth(0))
	return e
}

// end returns the last elements, at most n.
func (a *array) end(n int) []element {
	es := make([]element, 0, min(n, a.elems.Len()))
	for _, e := range a.elems.Backward() {
		if es = append(es, e); len(es) == cap(es) {
			break
		}
	}
	slices.Reverse(es)
	return es
}

// count counts a key where it is a position key.
func (a *array) count(key string, n int) {
	if storage.IsPositionKey(key) {
		a.odd += n
	}
}

// kind says how the engine sees the member.
func (m *member) kind() storage.Kind {
	switch {
	case m.name == "$schema":
		return storage.Other
	case m.array != nil:
		return storage.Array
	case m.value[0] == '{':
		return storage.Object
	}
	return storage.Other
}

// Contents returns what the document says, as plain JSON without comments.
func (d *Document) Contents() []storage.Collection {
	cs := make([]storage.Collection, len(d.members))
	for i, m := range d.members {
		cs[i] = storage.Collection{Name: m.name, Kind: m.kind()}
		if m.array != nil && cs[i].Kind == storage.Array {
			cs[i].Elements = m.array.contents(d.strict)
		} else {
			cs[i].Value = plain(m.text())
		}
	}
	return cs
}

func (a *array) contents(strict bool) []storage.Element {
	es := make([]storage.Element, 0, a.elems.Len())
	for _, e := range a.elems.All() {
		v := e.value()
		if !strict {
			v = plain(v)
		}
		es = append(es, storage.Element{Key: e.key, Value: v, Compact: e.tight})
	}
	return es
}

// text returns the bytes of the member's value.
func (m *member) text() []byte {
	if m.array == nil {
		return m.value
	}
	var b bytes.Buffer
	var r Runs
	r.addArray(m.array)
	r.WriteTo(&b)
	return b.Bytes()
}

// Size returns the length of the document in bytes.
func (d *Document) Size() int64 { return d.length }

// Bytes returns the document in a slice of its own.
func (d *Document) Bytes() []byte {
	var b bytes.Buffer
	b.Grow(int(d.length))
	d.WriteTo(&b)
	return b.Bytes()
}

// WriteTo writes the document to w in few, large pieces.
func (d *Document) WriteTo(w io.Writer) (int64, error) { return d.Runs().WriteTo(w) }

// Lookup returns the top-level member called name, nil where there is none or
// where it is an array.
func (d *Document) Lookup(name string) jsontext.Value {
	for _, m := range d.members {
		if m.name == name && m.array == nil {
			return plain(m.value)
		}
	}
	return nil
}

// KeyedBy returns the document with the ids of its elements in other members,
// and reports whether some element may have another key now.
func (d *Document) KeyedBy(idMember func(collection string) string) (next *Document, changed bool) {
	for _, m := range d.members {
		if m.array != nil && d.idMember(m.name) != idMember(m.name) {
			again, err := Parse("", d.Bytes(), idMember)
			if err != nil {
				return d, false // never: the document is one that has been parsed
			}
			return again, true
		}
	}
	n := *d
	n.idMember = idMember
	return &n, false
}
