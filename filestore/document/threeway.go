package document

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"pickup/internal/rawjson"
)

// A Merged is the result of Merge. Without conflicts, Ours and Theirs are the same document.
type Merged struct {
	Ours      *Document // with our side of each conflict
	Theirs    *Document // with their side of each conflict
	Conflicts []Conflict

	// Moved describes the records of the base that were probably renumbered in ours, and in
	// theirs, by pointer.
	Moved [2]map[string]string
}

// A Conflict is a value, a comment or the order of a list that both edits changed in different
// ways.
type Conflict struct {
	Path   []string // names of fields and ids of elements
	Detail string
}

func (c Conflict) String() string {
	if len(c.Path) == 0 {
		return "conflict: " + c.Detail
	}
	return "conflict in " + strings.Join(c.Path, "/") + ": " + c.Detail
}

// Merge merges two edits of base by collection, record and field. An edit keeps
// its bytes and comments. Merge also merges line breaks, order and layout, and the elements
// of arrays without ids if the edits are in different places. If two of the three documents
// are equal, the result is one of the documents, byte for byte.
//
// The result has ids in the same fields as ours. An error reports that the edits cannot be
// merged by record.
func Merge(base, ours, theirs *Document) (*Merged, error) {
	base = base.KeyedBy(ours.idMember)
	theirs = theirs.KeyedBy(ours.idMember)
	if edited, ok := pick(sameBytes, base, ours, theirs); ok {
		return &Merged{Ours: edited, Theirs: edited}, nil
	}
	m := &merger{baseDoc: base, ourDoc: ours, theirDoc: theirs}
	m.unifyLineBreaks()
	m.moved[0] = moved(m.baseDoc, m.ourDoc)
	m.moved[1] = moved(m.baseDoc, m.theirDoc)

	merged, err := m.mergeDocuments()
	if err != nil {
		return nil, err
	}
	out := &Merged{Ours: merged, Theirs: merged, Conflicts: m.conflicts, Moved: m.moved}
	if len(out.Conflicts) > 0 {
		m.theirsWin = true
		out.Theirs, err = m.mergeDocuments()
	}
	return out, err
}

func sameBytes(a, b *Document) bool {
	return a.length == b.length && bytes.Equal(a.Bytes(), b.Bytes())
}

// A merger merges two edits.
type merger struct {
	baseDoc, ourDoc, theirDoc *Document // with the same line breaks

	nl            string // the line break of the result, or "" if the documents have the same
	theirsWin     bool   // conflicts are decided for theirs
	layoutsDiffer bool   // the records of ours and theirs are indented differently
	theirsRelaid  bool   // only theirs has another layout than base
	conflicts     []Conflict
	moved         [2]map[string]string // see Merged
}

// unifyLineBreaks gives the documents the same line breaks. The result gets the line breaks of
// the edit that changed them.
func (m *merger) unifyLineBreaks() {
	base := m.baseDoc.style.nl
	ours := m.ourDoc.style.nl
	theirs := m.theirDoc.style.nl
	if base == ours && base == theirs {
		return
	}
	m.nl = theirs
	if base == theirs {
		m.nl = ours
	}
	unified := func(d *Document) *Document {
		text := bytes.ReplaceAll(d.Bytes(), []byte("\r\n"), []byte("\n"))
		return d.parse(text, nil)
	}
	m.baseDoc = unified(m.baseDoc)
	m.ourDoc = unified(m.ourDoc)
	m.theirDoc = unified(m.theirDoc)
}

// mergeDocuments returns the merged document. The error is a *storage.BrokenError.
func (m *merger) mergeDocuments() (*Document, error) {
	base := m.baseDoc
	ours := m.ourDoc
	theirs := m.theirDoc
	m.conflicts = nil
	m.layoutsDiffer = ours.layout() != theirs.layout()
	m.theirsRelaid = m.layoutsDiffer && ours.layout() == base.layout()

	s := ours.style
	s.elsewhere = func(yield func(*list, bool) bool) {} // both sides show how lists are laid out
	text := m.mergeLists(nil, base.memberList(), ours.memberList(), theirs.memberList(), s)
	text = text[1 : len(text)-1] // without braces
	head := m.mergeAround(nil, "above the database", base.head, ours.head, theirs.head)
	foot := m.mergeAround(nil, "below the database", base.foot, ours.foot, theirs.foot)
	text = concat(head, text, foot)
	if m.nl == "\r\n" {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	return ParseMember(ours.only, "", text, ours.idMember, ours)
}

// layout describes how the first record is indented.
func (d *Document) layout() string {
	for _, m := range d.members {
		if m.array == nil || m.array.elems.Len() == 0 {
			continue
		}
		e := m.array.first()
		inside := *cutList(e.value()).gap(0)
		layout := ""
		for _, gap := range [][]byte{m.gap, e.before(), inside} {
			layout += string(lastBreak(withoutComments(gap))) + "/"
		}
		return layout
	}
	return ""
}

// conflict records a conflict and returns the value of the side that wins.
func (m *merger) conflict(path []string, detail string, ours, theirs []byte) []byte {
	m.conflicts = append(m.conflicts, Conflict{slices.Clone(path), detail})
	if m.theirsWin {
		return theirs
	}
	return ours
}

// mergeAround merges the text around a value: comments, and a bracket or a name. where says for a
// conflict where the comments are.
func (m *merger) mergeAround(path []string, where string, base, ours, theirs []byte) []byte {
	if edited, ok := pick(bytes.Equal, base, ours, theirs); ok {
		return edited
	}
	if edited, ok := pick(sameComments, base, ours, theirs); ok {
		return edited
	}
	return m.conflict(path, "both changed the comments "+where, ours, theirs)
}

// mergeValue merges the value of an item. The value of base is nil if both edits added the item.
func (m *merger) mergeValue(path []string, base, ours, theirs *item, s style) []byte {
	if edited, ok := pick(bytes.Equal, base.value, ours.value, theirs.value); ok {
		return edited
	}
	baseList := base.list()
	ourList := ours.list()
	theirList := theirs.list()
	if base.value == nil {
		*baseList = list{open: ourList.open, keyed: ourList.keyed}
	}
	keyed := ourList.mixes(theirList) && ourList.mixes(baseList)
	if s.level <= deepLevel && (keyed || base.value != nil && keyElements(baseList, ourList, theirList)) {
		return m.mergeLists(path, baseList, ourList, theirList, s)
	}
	if edited, ok := pick(sameText, base.value, ours.value, theirs.value); ok {
		return edited
	}
	if equal(ours.value, theirs.value) {
		return ours.value
	}
	return m.conflict(path, "both changed it", ours.value, theirs.value)
}

// questionAbout returns the question about a record that was probably renumbered, or "".
func (m *merger) questionAbout(path []string) string {
	pointer := rawjson.Pointer(path...)
	return cmp.Or(m.moved[0][pointer], m.moved[1][pointer])
}

// deletionConflict records the conflict of an item that one side changed and the other deleted,
// and reports whether the deletion wins.
func (m *merger) deletionConflict(path []string, byTheirs bool) bool {
	detail := "ours deleted it, theirs changed it"
	if byTheirs {
		detail = "ours changed it, theirs deleted it"
	}
	m.conflict(path, detail, nil, nil)
	return m.theirsWin == byTheirs
}
