package document

import (
	"bytes"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore/internal/checksum"
	"pickup/internal/ordered"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A Document is the text of a database file, cut into members and the elements of arrays.
// A Document is immutable: Apply returns the next Document, which shares the unchanged bytes.
//
// All byte slices are parts of the parsed text or of the texts of edits. Never write to a slice.
type Document struct {
	form

	head    []byte    // up to and including the opening brace
	members []*member // in the order of the file
	tail    []byte    // the gap after the last member
	foot    []byte    // from the closing brace on
	length  int64     // of the text, in bytes
	most    int64     // the maximum length of a document that the slices keep in memory
	style   style     // of the top level, when it was parsed
	strict  bool      // the text is JSON
	escaped bool      // the text, when it was parsed, had escapes for all characters that are not ASCII
}

// A form says how to read a text.
type form struct {
	idMember func(collection string) string
	only     string // the name of the member if the text is the value of one member; "" for a database
	json5    bool   // the text is JSON5
}

// A member is a top-level member of a document.
type member struct {
	gap   []byte // before the name: comma, white space, comments
	label []byte // the name up to the value, with the colon
	name  string
	value []byte // unless it is an array
	array *array
}

// An array is the value of a top-level member.
type array struct {
	head        []byte                // the opening bracket
	elems       *ordered.Map[element] // by key, in the order of the file
	unreachable int                   // number of elements with a position as key
	tail        []byte                // the gap after the last element
	foot        []byte                // the closing bracket
	lastText    []byte                // of an emptied array: the text with the last element
	odd         oddTail               // for the removal of the latest appended element
}

// An oddTail is a gap after the last element that joinGaps cannot restore when an appended
// element is removed. The gap returns when the element before it is the last element again.
type oddTail struct {
	last string // the key of the element before the gap, "" if the array was empty
	text []byte
}

// An element of an array, with the gap before it.
type element struct {
	key     string
	text    []byte // gap and value
	gap     uint32 // length of the gap
	compact bool   // the value has no white space between its tokens, and no comment
}

func (e element) before() []byte {
	return slices.Clip(e.text[:e.gap])
}

func (e element) value() []byte {
	return slices.Clip(e.text[e.gap:])
}

// first returns the first element of an array that is not empty.
func (a *array) first() element {
	e, _ := a.elems.At(a.elems.Nth(0))
	return e
}

// top returns the members as a list without values.
func (d *Document) top() *list {
	l := &list{open: '{', tail: d.tail}
	for _, m := range d.members {
		l.items = append(l.items, item{gap: m.gap, label: m.label})
	}
	return l
}

// end returns a list of at most n elements at the end.
func (a *array) end(n int) *list {
	l := &list{open: '[', items: make([]item, 0, min(n, a.elems.Len())), tail: a.tail}
	for _, e := range a.elems.Backward() {
		if len(l.items) == n {
			break
		}
		l.items = append(l.items, item{gap: e.before(), value: e.value()})
	}
	slices.Reverse(l.items)
	return l
}

// count adds n to unreachable if key is a position.
func (a *array) count(key string, n int) {
	if storage.IsPositionKey(key) {
		a.unreachable += n
	}
}

// kind returns the kind of collection that the member is.
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

// Contents returns the contents of the document as plain JSON.
func (d *Document) Contents() []storage.Collection {
	cs := make([]storage.Collection, len(d.members))
	for i, m := range d.members {
		cs[i] = storage.Collection{Name: m.name, Kind: m.kind()}
		if cs[i].Kind == storage.Array {
			cs[i].Elements = d.contents(m.array)
		} else {
			cs[i].Value = plain(m.valueText())
		}
	}
	return cs
}

func (d *Document) contents(a *array) []storage.Element {
	es := make([]storage.Element, 0, a.elems.Len())
	for _, e := range a.elems.All() {
		v := e.value()
		if d.json5 {
			v = plain(v)
		} else if !d.strict {
			v = rawjson.Blanked(v)
		}
		es = append(es, storage.Element{Key: e.key, Value: v, Compact: e.compact})
	}
	return es
}

// Value returns a copy of the top-level member called name as plain JSON, or nil if
// there is none.
func (d *Document) Value(name string) jsontext.Value {
	for _, m := range d.members {
		if m.name == name {
			return bytes.Clone(plain(m.valueText()))
		}
	}
	return nil
}

// valueText returns the text of the value.
func (m *member) valueText() []byte {
	if m.array == nil {
		return m.value
	}
	var r runs
	m.array.visit(r.add, r.addBlock)
	if len(r) == 1 {
		return slices.Clip(r[0])
	}
	return slices.Concat(r...)
}

// JSON5 reports whether the text is JSON5.
func (d *Document) JSON5() bool {
	return d.json5
}

// Only returns the name of the member if the text is the value of one member, and "" for a
// database.
func (d *Document) Only() string {
	return d.only
}

// Size returns the length of the document in bytes.
func (d *Document) Size() int64 {
	return d.length
}

// Bytes returns a copy of the text.
func (d *Document) Bytes() []byte {
	return slices.Concat(d.Runs()...)
}

// A runs lists the parts of a text that are contiguous in memory.
type runs [][]byte

// Runs returns the text of the document in the parts that are contiguous in memory. A
// document that was never edited is one part.
func (d *Document) Runs() [][]byte {
	var r runs
	d.visit(r.add, r.addBlock)
	return r
}

// Sum returns the checksum of the text. It sums only the changes since the last call for an
// earlier version.
func (d *Document) Sum() checksum.Sum {
	var w checksum.Writer
	text := func(b []byte) { w.Write(b) }
	block := func(b *block) { w.Append(b.part) }
	d.visit(text, block)
	return w.Sum()
}

// visit calls text for the parts of the text and block for the elements between them.
func (d *Document) visit(text func([]byte), block func(*block)) {
	text(d.head)
	for _, m := range d.members {
		text(m.gap)
		text(m.label)
		if m.array == nil {
			text(m.value)
		} else {
			m.array.visit(text, block)
		}
	}
	text(d.tail)
	text(d.foot)
}

func (a *array) visit(text func([]byte), block func(*block)) {
	text(a.head)
	for memo, elems := range a.elems.Blocks(false) {
		block(blockOf(memo, elems))
	}
	text(a.tail)
	text(a.foot)
}

// A block is the text of elements that follow one another. Documents share the blocks
// that have not changed, so that a write copies and sums only the others.
type block struct {
	runs runs
	part checksum.Part
}

// maxJoined is the size up to which the text of a block is joined.
const maxJoined = 64 << 10

// blockOf returns the block of elements, which memo keeps.
func blockOf(memo *atomic.Pointer[any], elems iter.Seq[element]) *block {
	if kept := memo.Load(); kept != nil {
		return (*kept).(*block)
	}
	texts := make(runs, 0, 32) // most blocks have 32 elements
	size := 0
	for e := range elems {
		texts.add(e.text)
		size += len(e.text)
	}
	b := new(block)
	if len(texts) > 1 && size <= maxJoined {
		b.runs = runs{bytes.Join(texts, nil)} // unlike slices.Concat it clears no memory
	} else {
		b.runs = slices.Clone(texts) // mostly one, of a file as it was loaded
	}
	b.part = checksum.PartOf(b.runs...)
	memo.Store(new(any(b)))
	return b
}

func (r *runs) addBlock(b *block) {
	for _, run := range b.runs {
		r.add(run)
	}
}

func (r *runs) add(b []byte) {
	if len(b) == 0 {
		return
	}
	if n := len(*r); n > 0 {
		if last := &(*r)[n-1]; follows(*last, b) {
			*last = (*last)[: len(*last)+len(b) : cap(*last)]
			return
		}
	}
	*r = append(*r, b)
}

// follows reports whether b follows a in memory.
func follows(a, b []byte) bool {
	return len(a) > 0 && cap(a)-len(a) >= len(b) && &a[:len(a)+1][len(a)] == &b[0]
}

// sample returns a short array with the layout of a.
func (a *array) sample() []byte {
	l := a.end(4)
	l.items[0].gap = a.first().before()
	return l.text()
}

// hasUnreachable reports whether the member has elements that no URL reaches.
func (m *member) hasUnreachable() bool {
	return m.array != nil && m.array.unreachable > 0
}
