package document

import (
	"bytes"
	"cmp"
	"errors"

	"pickup/internal/jsonsyntax"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Parse cuts data into a document, which keeps slices of it: nobody
// may change data afterwards. It reads JSON (RFC 8259) as people write it:
// with comments, trailing commas and a byte order mark. Duplicate names and
// text that is not UTF-8 are errors, and so is a top level that is no object.
//
// file is the file's name for errors, which are *storage.BrokenError. idMember
// says which member of a collection's elements is their id; nil stands for
// "id".
func Parse(file string, data []byte, idMember func(collection string) string) (*Document, error) {
	return ParseEdit(file, data, idMember, nil)
}

// ParseEdit is parseDocument for a text that somebody has made of the document
// before, as a rule by changing a little: elements that are as they were are
// not checked again. Where they are most of the text the new document has them
// from the old one, and data is not kept. before may be nil.
func ParseEdit(file string, data []byte, idMember func(collection string) string, before *Document) (*Document, error) {
	if idMember == nil {
		idMember = func(string) string { return "id" }
	}
	d := &Document{idMember: idMember, length: int64(len(data)), most: int64(len(data))}
	// Most files are plain JSON. One that can be cut has nothing that blanked
	// would find.
	text := data
	c := newCutter(data, text)
	c.editOf(before)
	if d.strict = d.cut(c); !d.strict {
		if b := blanked(data); b != nil {
			text = b
		}
		if len(text) == 0 || &text[0] == &data[0] || !d.cut(newCutter(data, text)) {
			return nil, broken(file, data)
		}
	}
	d.style = styleOf(d)
	return d, nil
}

// deepest is how many arrays and objects a file may nest: as many as jsontext
// allows.
const deepest = 10_000

// grammar is what a file must follow.
var grammar = jsonsyntax.Grammar{
	Noun: "file", Root: `an object of collections, such as {"schedules": []}`, Comments: true, MaxDepth: deepest,
}

// broken returns the error for a file that does not parse.
func broken(file string, data []byte) error {
	offset, reason := grammar.Explain(data)
	line, column := rawjson.LineColumn(data, offset)
	return &storage.BrokenError{File: file, Line: line, Column: column, Reason: cmp.Or(reason, "this is not valid JSON")}
}

// cut fills d with slices of a text, where c finds its values. It reports false
// where that is no JSON object.
func (d *Document) cut(c *cutter) bool {
	defer c.abandon()
	data := c.data
	d.members = nil
	if c.space(); !c.take('{') {
		return false
	}
	d.head = data[:c.at]
	names := make(map[string]bool)
	end := c.at // of what has been cut
	for c.space(); !c.take('}'); c.space() {
		if len(d.members) > 0 {
			if !c.take(',') {
				return false
			}
			c.space()
		}
		m := &member{gap: data[end:c.at]}
		start := c.at
		var ok bool
		if m.name, ok = c.name(); !ok || names[m.name] {
			return false
		}
		names[m.name] = true
		if c.space(); !c.take(':') {
			return false
		}
		c.space()
		m.label = data[start:c.at]
		if c.peek() == '[' {
			m.array = &array{}
			if !c.array(m.array, d.idMember(m.name), c.former(m.name, d.idMember(m.name))) {
				return false
			}
		} else {
			start = c.at
			if !c.value(deepest-1) || !c.valid(start) {
				return false
			}
			m.value = data[start:c.at]
		}
		d.members = append(d.members, m)
		end = c.at
	}
	d.tail = data[end : c.at-1]
	d.foot = data[c.at-1:]
	c.space()
	if c.at < len(c.plain) || !c.finish() {
		return false
	}
	if c.mostlyKnown() {
		d.most = max(d.most, c.before.most)
		d.detach()
	}
	return true
}

// detach copies what is no element out of the text that it was cut from.
func (d *Document) detach() {
	for _, b := range []*[]byte{&d.head, &d.tail, &d.foot} {
		*b = bytes.Clone(*b)
	}
	for _, m := range d.members {
		own := []*[]byte{&m.gap, &m.label, &m.value}
		if a := m.array; a != nil {
			own = []*[]byte{&m.gap, &m.label, &a.head, &a.tail, &a.foot}
		}
		for _, b := range own {
			*b = bytes.Clone(*b)
		}
	}
}

// parse cuts the text of an array, which is known to be valid.
func (a *array) parse(text []byte, idMember string) error {
	c := newCutter(text, plain(text))
	defer c.abandon()
	if !c.array(a, idMember, nil) || !c.finish() {
		return errUncut
	}
	return nil
}

var errUncut = errors.New("the text cannot be cut as an array")
