package document

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A Merged is what Merge makes of two edits of a document. Without conflicts Ours and
// Theirs are the same document.
type Merged struct {
	Ours      *Document // with our side of each conflict
	Theirs    *Document // with their side of each conflict
	Conflicts []Conflict

	// Moved describes the records of the base that seem to have another id in ours and
	// in theirs by now, by their pointers.
	Moved [2]map[string]string
}

// A Conflict is what both edits changed in different ways: a value, a comment, or the
// order of a list.
type Conflict struct {
	Path   []string // names of fields; the elements of collections by their ids
	Detail string
}

func (c Conflict) String() string {
	if len(c.Path) == 0 {
		return "conflict: " + c.Detail
	}
	return "conflict in " + strings.Join(c.Path, "/") + ": " + c.Detail
}

// Merge merges two edits of base by collection, record and field. An edit keeps
// its bytes and comments. Arrays without ids are merged if the edits are in different
// places. Line breaks, order and layout are merged, too. If one of the three documents
// is equal to another, the result is one of them, byte for byte.
//
// The result has the ids of its elements where ours has them. An error reports that the
// edits cannot be merged by record.
func Merge(base, ours, theirs *Document) (*Merged, error) {
	base, theirs = base.KeyedBy(ours.idMember), theirs.KeyedBy(ours.idMember)
	same := func(a, b *Document) bool { return a.length == b.length && bytes.Equal(a.Bytes(), b.Bytes()) }
	if edited, ok := pick(same, base, ours, theirs); ok {
		return &Merged{Ours: edited, Theirs: edited}, nil
	}
	docs, nl := [3]*Document{base, ours, theirs}, ""
	if o, t := ours.style.nl, theirs.style.nl; o != t || o != base.style.nl {
		nl, _ = pick(func(a, b string) bool { return a == b }, base.style.nl, o, t)
		for i, d := range docs {
			var err error
			if docs[i], err = ParseMember(d.only, "", bytes.ReplaceAll(d.Bytes(), []byte("\r\n"), []byte("\n")), ours.idMember, nil); err != nil {
				return nil, err
			}
		}
	}
	out := &Merged{Moved: [2]map[string]string{moved(docs[0], docs[1]), moved(docs[0], docs[2])}}
	m := &merger{docs: docs, nl: nl, moved: out.Moved}
	var err error
	if out.Ours, out.Conflicts, err = m.merge(false); err != nil || len(out.Conflicts) == 0 {
		out.Theirs = out.Ours
		return out, err
	}
	out.Theirs, _, err = m.merge(true)
	return out, err
}

// A merger merges two edits.
type merger struct {
	docs      [3]*Document // base, ours, theirs; they have the same line breaks
	nl        string       // the line break of the result, if it is another one
	theirs    bool         // decides conflicts
	relaid    bool         // theirs has another layout than base, and ours has not
	lay       bool         // ours and theirs have different layouts
	conflicts []Conflict
	moved     [2]map[string]string
}

// merge merges the documents, with their side of each conflict if theirs is set.
func (m *merger) merge(theirs bool) (*Document, []Conflict, error) {
	b, o, t := m.docs[0], m.docs[1], m.docs[2]
	m.theirs, m.conflicts = theirs, nil
	m.lay = o.layout() != t.layout()
	m.relaid = m.lay && o.layout() == b.layout()
	text := m.list(nil, b.list(), o.list(), t.list(), o.style)
	text = concat(
		m.around(nil, "above the database", b.head, o.head, t.head),
		text[1:len(text)-1], // without braces
		m.around(nil, "below the database", b.foot, o.foot, t.foot))
	if m.nl == "\r\n" {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	doc, err := ParseMember(o.only, "", text, o.idMember, o)
	return doc, m.conflicts, err
}

// list returns the top level of the document as a list.
func (d *Document) list() *list {
	l := d.top()
	for i, m := range d.members {
		it := &l.items[i]
		it.key, it.value, it.array = m.name, m.text(), m.array
	}
	return l
}

// layout describes how the first records are indented.
func (d *Document) layout() string {
	for _, m := range d.members {
		if m.array != nil && m.array.elems.Len() > 0 {
			e := m.array.first()
			layout := ""
			for _, gap := range [][]byte{m.gap, e.before(), *cutList(e.value()).gap(0)} {
				layout += string(lastBreak(withoutComments(gap))) + "/"
			}
			return layout
		}
	}
	return ""
}

// conflict notes a conflict and returns the side that the merger decides for.
func (m *merger) conflict(path []string, detail string, ours, theirs []byte) []byte {
	m.conflicts = append(m.conflicts, Conflict{slices.Clone(path), detail})
	if m.theirs {
		return theirs
	}
	return ours
}

// pick returns what an edit made of b if only one changed it, or both made the same.
func pick[T any](same func(a, b T) bool, b, o, t T) (edited T, ok bool) {
	if same(b, t) || same(o, t) {
		return o, true
	}
	return t, same(b, o)
}

// around merges a text with comments around a value, which has a bracket or a name, too.
func (m *merger) around(path []string, where string, b, o, t []byte) []byte {
	sameComments := func(a, b []byte) bool { return slices.Equal(commentsIn(a), commentsIn(b)) }
	for _, same := range []func(a, b []byte) bool{bytes.Equal, sameComments} {
		if edited, ok := pick(same, b, o, t); ok {
			return edited
		}
	}
	return m.conflict(path, "both changed the comments "+where, o, t)
}

// value merges the value of an item. base has none if both edits added it.
func (m *merger) value(path []string, base, ours, theirs *item, s style) []byte {
	if edited, ok := pick(bytes.Equal, base.value, ours.value, theirs.value); ok {
		return edited
	}
	baseList, ourList, theirList := base.list(), ours.list(), theirs.list()
	if base.value == nil {
		*baseList = list{open: ourList.open, keyed: ourList.keyed}
	}
	keyed := ourList.mixes(theirList) && ourList.mixes(baseList)
	if s.level <= deepLevel && (keyed || base.value != nil && keyElements(baseList, ourList, theirList)) {
		return m.list(path, baseList, ourList, theirList, s)
	}
	if edited, ok := pick(sameText, base.value, ours.value, theirs.value); ok {
		return edited
	}
	if equal(ours.value, theirs.value) {
		return ours.value
	}
	return m.conflict(path, "both changed it", ours.value, theirs.value)
}

// list returns the value of an item as a list. The keys of its items are names, or the
// ids of elements.
func (it *item) list() *list {
	if it.array != nil {
		return it.array.list()
	}
	l := cutList(it.value)
	l.keyed = true
	ids := storage.NewKeys("id")
	for i := range l.items {
		it := &l.items[i]
		if l.open == '{' {
			it.key = string(it.name())
			continue
		}
		it.key = ids.Next(plain(it.value))
		l.keyed = l.keyed && !storage.IsPositionKey(it.key)
	}
	return l
}

// mixes reports whether a merge can take items from both lists, by their keys.
func (l *list) mixes(o *list) bool { return l.open != 0 && l.open == o.open && l.keyed && o.keyed }

func (a *array) list() *list {
	l := &list{open: '[', keyed: a.unreachable == 0, items: make([]item, 0, a.elems.Len()), tail: a.tail}
	for _, e := range a.elems.All() {
		l.items = append(l.items, item{gap: e.before(), key: e.key, value: e.value()})
	}
	return l
}

// movedTo says what id a record seems to have now on either side, "" if it is the same.
func (m *merger) movedTo(path []string) string {
	return cmp.Or(m.moved[0][rawjson.Pointer(path...)], m.moved[1][rawjson.Pointer(path...)])
}

// deleted notes the conflict of an item that one side changed and the other deleted,
// and reports whether the merger decides for the deletion.
func (m *merger) deleted(path []string, byTheirs bool) bool {
	detail := "ours deleted it, theirs changed it"
	if byTheirs {
		detail = "ours changed it, theirs deleted it"
	}
	m.conflict(path, detail, nil, nil)
	return m.theirs == byTheirs
}

// sameText reports whether two values are the same but for white space and trailing
// commas. Comments count.
func sameText(a, b []byte) bool {
	return bytes.Equal(a, b) || sameValue(a, b) && slices.Equal(commentsIn(a), commentsIn(b))
}

// equal reports whether two values are equal but for their spelling and the order of
// fields. Comments count.
func equal(a, b []byte) bool {
	return sameText(a, b) || slices.Equal(commentsIn(a), commentsIn(b)) && rawjson.Equal(plain(a), plain(b))
}
