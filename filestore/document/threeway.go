package document

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
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

// value merges the value of an item. b has none if both edits added it.
func (m *merger) value(path []string, b, o, t *item, s style) []byte {
	if edited, ok := pick(bytes.Equal, b.value, o.value, t.value); ok {
		return edited
	}
	lb, lo, lt := b.list(), o.list(), t.list()
	if b.value == nil {
		*lb = list{open: lo.open, keyed: lo.keyed}
	}
	if s.level <= deepLevel && (lo.mixes(lt) && lo.mixes(lb) || b.value != nil && nameElements(lb, lo, lt)) {
		return m.list(path, lb, lo, lt, s)
	}
	if edited, ok := pick(sameText, b.value, o.value, t.value); ok {
		return edited
	}
	return m.conflict(path, "both changed it", o.value, t.value)
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

// list merges lists whose items have keys.
func (m *merger) list(path []string, b, o, t *list, s style) []byte {
	// x is the list that is changed, y has the changes.
	x, y, swapped := o, t, false
	switch sb, so, st := order(b, o, t), order(o, b, t), order(t, b, o); {
	case slices.Equal(so, sb):
		swapped = m.relaid || !slices.Equal(st, sb)
	case !slices.Equal(st, sb) && !slices.Equal(st, so) && o.open == '[':
		m.conflict(path, "both changed the order", nil, nil)
		swapped = m.theirs
	}
	if swapped {
		x, y = t, o
	}
	r := &list{open: x.open, items: slices.Clone(x.items), tail: x.tail}
	for i := 0; i <= len(x.items); i++ { // gaps between the same items in all three
		before := x.key(i - 1)
		bi, yi := b.place(x.key(i)), y.place(x.key(i))
		if bi >= 0 && yi >= 0 && b.key(bi-1) == before && y.key(yi-1) == before && bytes.Equal(*r.gap(i), *b.gap(bi)) {
			*r.gap(i) = *y.gap(yi)
		}
	}
	cb, cx, cy := b.owned(), x.owned(), y.owned()
	known := cb.count()
	s = s.in(x)
	dropped := func(it *item, comments commentMap, byTheirs bool) bool { // from one side, the other deleted it
		was := b.item(it.key)
		return was != nil && (sameText(was.value, it.value) && !comments.hasNew(it.key, known) || m.deleted(append(path, it.key), byTheirs))
	}
	gone := make(map[string]bool)
	for i := range x.items {
		it, yi := &x.items[i], y.item(x.items[i].key)
		bi := cmp.Or(b.item(it.key), new(item))
		if yi != nil && bytes.Equal(it.value, yi.value) && bytes.Equal(it.label, yi.label) {
			continue
		}
		at := append(path, it.key)
		oi, ti := it, yi
		if swapped {
			oi, ti = yi, it
		}
		switch {
		case yi == nil:
			gone[it.key] = dropped(it, cx, !swapped)
		case bi.value == nil && x.open == '[' && !sameText(it.value, yi.value):
			r.items[i].value = m.conflict(at, "both added it", oi.value, ti.value)
		case m.movedTo(at) != "" && !sameText(bi.value, it.value) && !sameText(bi.value, yi.value) && !sameText(it.value, yi.value):
			r.items[i].value = m.conflict(at, "both changed it, and "+m.movedTo(at), oi.value, ti.value)
		default:
			r.items[i].value = m.value(at, bi, oi, ti, s.at(it.gap, s.flat))
			r.items[i].label = m.around(at, "in front of the value", bi.label, oi.label, ti.label)
		}
	}
	added := make(map[int][]item) // by the index in x of the item that they come before
	next := func(i int) int {     // ours first
		for !swapped && i < len(x.items) && y.item(x.items[i].key) == nil {
			i++
		}
		return i
	}
	place := next(0)
	for _, it := range y.items {
		if i := x.place(it.key); i >= 0 {
			place = next(i + 1)
		} else if !dropped(&it, cy, swapped) {
			added[place] = append(added[place], it)
		}
	}
	if len(added) > 0 {
		s := s.in(r)
		ex := examples(nothing).elements(x, len(x.items), len(x.items))
		r.insert(added, s, func(it *item) {
			if m.lay && len(commentsIn(it.value)) == 0 {
				it.value = s.at(it.gap, s.flat).lay(plain(it.value), ex)
			}
		})
	}
	if len(gone) > 0 {
		r.remove(func(i int) bool { return gone[r.items[i].key] })
	}
	if len(cb)+len(cx)+len(cy) > 0 {
		r.setComments(cb, cx, cy, x, y, s)
	}
	return r.text()
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

// order returns the keys that are in all three lists, in the order of l.
func order(l, b, c *list) (keys []string) {
	for _, it := range l.items {
		if b.place(it.key) >= 0 && c.place(it.key) >= 0 {
			keys = append(keys, it.key)
		}
	}
	return keys
}

// nameElements gives keys to the elements of arrays that have no ids. It reports false if
// the edits are not in different places.
func nameElements(b, o, t *list) bool {
	of, ol := changedRange(b, o)
	tf, tl := changedRange(b, t)
	n := len(b.items)
	if b.open != '[' || o.open != '[' || t.open != '[' || ol > tf && tl > of || b.comments()+o.comments()+t.comments() > 0 {
		return false
	}
	// An element that a side has not changed has its index in the base for a key.
	name := func(l *list, from, to int, side string) {
		seen := make(map[string]int)
		for i := range l.items {
			it := &l.items[i]
			switch fromEnd := len(l.items) - i; {
			case i < from:
				it.key = strconv.Itoa(i)
			case fromEnd <= n-to:
				it.key = strconv.Itoa(n - fromEnd)
			case of == ol && tf == tl && of == tf: // what both inserted is there once
				text := string(rawjson.Compact(plain(it.value)))
				seen[text]++
				it.key = "=" + strconv.Itoa(seen[text]) + text
			default:
				it.key = side + strconv.Itoa(i)
			}
		}
	}
	name(b, n, n, "")
	name(o, of, ol, "ours")
	name(t, tf, tl, "theirs")
	return true
}

// changedRange returns which elements of b are not in l, from a common beginning to a
// common end.
func changedRange(b, l *list) (from, to int) {
	_, head, foot := rawjson.Partners(b.values(), l.values(), "")
	return head, len(b.items) - foot
}

// sameText reports whether two values are the same but for white space and trailing
// commas. Comments count.
func sameText(a, b []byte) bool {
	return bytes.Equal(a, b) || sameValue(a, b) && slices.Equal(commentsIn(a), commentsIn(b))
}
