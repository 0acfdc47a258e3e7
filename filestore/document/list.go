package document

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// A list is an object or array cut into its items, for edits inside a value.
type list struct {
	open  byte
	items []item
	tail  []byte         // the gap before the closing bracket
	keys  map[string]int // index by key; set by index
	keyed bool           // for Merge: all items have keys
}

// An item of a list with the gap before it.
type item struct {
	gap      []byte
	label    []byte // of a member: the name up to the value, with the colon
	key      string // for Merge: the name of a member, the id of an element
	value    []byte
	elements func() *list // for Merge: of a top-level array
}

// name returns the name of a member, nil for an element.
func (it item) name() []byte {
	if it.label == nil {
		return nil
	}
	return nameOf(it.quoted())
}

// quoted returns the name of a member as it is spelled.
func (it item) quoted() []byte {
	quoted, _ := cutLabel(it.label)
	return quoted
}

// cutLabel cuts the label of a member into the name and the text between name and value.
func cutLabel(label []byte) (quoted, mark []byte) {
	end := rawjson.SkipToken(label, 0)
	return label[:end], label[end:]
}

// cutList cuts an object or array, which may have comments. The list has no
// brackets if v is neither.
func cutList(v []byte) *list {
	l := &list{}
	if len(v) == 0 || v[0] != '{' && v[0] != '[' {
		return l
	}
	l.open = v[0]
	l.items = make([]item, 0, 12) // as most records have fewer
	for i := 1; ; {
		start := i
		i = rawjson.SkipGap(v, i)
		gap := v[start:i]
		if i >= len(v) || v[i] == rawjson.Closing(l.open) {
			l.tail = gap
			return l
		}
		it := item{gap: gap}
		if l.open == '{' {
			start = i
			i = rawjson.SkipToken(v, i)
			i = rawjson.SkipGap(v, i)   // the colon
			i = rawjson.SkipGap(v, i+1) // the value
			it.label = v[start:i]
		}
		start = i
		i = rawjson.SkipCommented(v, i)
		it.value = v[start:i:i]
		l.items = append(l.items, it)
	}
}

// text returns the text of the list.
func (l *list) text() []byte {
	n := len("[]") + len(l.tail)
	for _, it := range l.items {
		n += len(it.gap) + len(it.label) + len(it.value)
	}
	var b bytes.Buffer
	b.Grow(n)
	b.WriteByte(l.open)
	for _, it := range l.items {
		b.Write(it.gap)
		b.Write(it.label)
		b.Write(it.value)
	}
	b.Write(l.tail)
	b.WriteByte(rawjson.Closing(l.open))
	return b.Bytes()
}

// withGap returns the gap before the item and the text of the item.
func (it item) withGap() []byte {
	return concat(it.gap, it.label, it.value)
}

// bracket is the key of the brackets of a list, which no item has.
const bracket = "\xff"

// key returns the key of the item at i, or bracket outside of the list.
func (l *list) key(i int) string {
	if i < 0 || i >= len(l.items) {
		return bracket
	}
	return l.items[i].key
}

// index returns the index of the item with a key or a name, or -1. The closing bracket is
// after the last item. The list must not change between two calls.
func (l *list) index(key string) int {
	if l.keys == nil {
		l.keys = make(map[string]int, len(l.items)+1)
		for i, it := range l.items {
			l.keys[cmp.Or(it.key, string(it.name()))] = i
		}
		l.keys[bracket] = len(l.items)
	}
	if i, ok := l.keys[key]; ok {
		return i
	}
	return -1
}

// find returns the index of the item with the key or the name of it, or -1. See index.
func (l *list) find(it item) int {
	return l.index(cmp.Or(it.key, string(it.name())))
}

// item returns the item with a key, or nil.
func (l *list) item(key string) *item {
	if i := l.index(key); i >= 0 {
		return &l.items[i]
	}
	return nil
}

// gap returns the gap before the item at i, or before the closing bracket.
func (l *list) gap(i int) *[]byte {
	if i < len(l.items) {
		return &l.items[i].gap
	}
	return &l.tail
}

// oneLine reports whether all items are on the line of the brackets.
func (l *list) oneLine() bool {
	for _, it := range l.items {
		if breaks(it.gap) > 0 {
			return false
		}
	}
	return breaks(l.tail) == 0
}

// spread reports whether each item has a line of its own, as JSON.stringify writes lists
// with indentation.
func (l *list) spread() bool {
	for _, it := range l.items {
		if breaks(it.gap) != 1 {
			return false
		}
	}
	return breaks(l.tail) == 1
}

// sharesLines reports whether several items share a line, or all could.
func (l *list) sharesLines() bool {
	followsOnLine := func(it item) bool { return breaks(it.gap) == 0 }
	return l.oneLine() || slices.ContainsFunc(l.items[1:], followsOnLine)
}

// size returns about how many bytes the items take on one line.
func (l *list) size() (n int) {
	for _, it := range l.items {
		n += len(it.label) + len(it.value) + len(", ")
	}
	return n
}

// sameKind reports whether two lists are both objects, arrays of scalars or
// arrays of lists. People lay these out differently.
func (l *list) sameKind(o *list) bool {
	return l.open == o.open && (l.open == '{' || l.nests() == o.nests())
}

// nests reports whether any item is a list itself.
func (l *list) nests() bool {
	return slices.ContainsFunc(l.items, item.isList)
}

// isList reports whether the value is an object or an array.
func (it item) isList() bool {
	return it.value[0] == '{' || it.value[0] == '['
}

// comments counts the comments around the items.
func (l *list) comments() int {
	n := scanGap(l.tail).comments
	for _, it := range l.items {
		n += scanGap(it.gap).comments
	}
	return n
}

// remove removes the items for which gone returns true; i is where they were.
func (l *list) remove(gone func(i int) bool) {
	n := len(l.items)
	kept := make([]item, 0, n)
	for i, it := range l.items {
		if !gone(i) {
			kept = append(kept, it)
			continue
		}
		after := l.gap(i + 1)
		*after = joinGaps(it.gap, *after, len(kept) == 0, i == n-1)
	}
	l.items = kept
}

// colon returns the text between the name and the value of a member, without comments.
func colon(label []byte) []byte {
	_, mark := cutLabel(label)
	return withoutComments(mark)
}

// values returns the values of the items as plain JSON.
func (l *list) values() []jsontext.Value {
	values := make([]jsontext.Value, len(l.items))
	for i, it := range l.items {
		values[i] = plain(it.value)
	}
	return values
}
