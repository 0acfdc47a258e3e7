package document

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"unicode/utf8"

	"pickup/internal/jsonsyntax"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Parse parses data into a document, which keeps slices of it: the caller must
// not change data afterwards. It accepts JSON (RFC 8259) with comments, trailing
// commas and a byte order mark. Duplicate names, invalid UTF-8 and a top level
// that is not an object are errors.
//
// The error is a *storage.BrokenError for the file called file. idMember returns
// the member that has the ids of a collection; nil means "id".
func Parse(file string, data []byte, idMember func(collection string) string) (*Document, error) {
	return ParseMember("", file, data, idMember, nil)
}

// ParseMember is like Parse for a text that is the value of one member, the one called
// only. If that is empty, the text is a database.
//
// It is faster if the text is an edit of the document before, which may be nil:
// unchanged elements are not validated again. If they are most of the text, the new
// document shares them with before and does not keep data.
func ParseMember(only, file string, data []byte, idMember func(collection string) string, before *Document) (*Document, error) {
	if idMember == nil {
		idMember = func(string) string { return "id" }
	}
	d := &Document{idMember: idMember, only: only, length: int64(len(data)), most: int64(len(data))}
	// Most files are plain JSON, which needs no blanked copy.
	text := data
	c := newParser(data, text)
	c.editOf(before)
	if d.strict = d.cut(c); !d.strict {
		text = plain(data)
		if len(text) == 0 || &text[0] == &data[0] || !d.cut(newParser(data, text)) {
			return nil, broken(file, data, d)
		}
	}
	d.style = styleOf(d, data)
	d.escaped = isEscaped(data)
	return d, nil
}

// isEscaped reports whether data has escapes for characters that are not ASCII, and no
// such character.
func isEscaped(data []byte) bool {
	found := false
	for rest := data; ; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 || len(rest) < i+len(`\u0000`) {
			break
		}
		found = found || rest[i+1] == 'u' && (string(rest[i+2:i+4]) != "00" || rest[i+4] >= '8')
		rest = rest[i+2:]
	}
	return found && !slices.ContainsFunc(data, func(c byte) bool { return c >= utf8.RuneSelf })
}

// deepest is how deep a file may be nested: as deep as jsontext allows.
const deepest = 10_000

// grammar is what a file must follow.
var grammar = jsonsyntax.Grammar{
	Noun: "file", Root: "an object of collections", Comments: true, MaxDepth: deepest,
}

// broken returns the error for a file that does not parse as d.
func broken(file string, data []byte, d *Document) error {
	g := grammar
	if d.only != "" {
		g.Root = ""
	}
	offset, reason, _ := g.Explain(data)
	if bytes.HasPrefix(data[min(offset, len(data)):], []byte("<<<<<<<")) {
		reason = cmp.Or(explainConflicts(data, d), reason)
	}
	line, column := rawjson.LineColumn(data, offset)
	return &storage.BrokenError{File: file, Line: line, Column: column, Reason: cmp.Or(reason, "this is not valid JSON"), Excerpt: rawjson.ExcerptAt(data, offset)}
}

// cut fills d with the slices that c finds. It reports false if the text is not a
// JSON object or, for one member, a value.
func (d *Document) cut(c *parser) bool {
	defer c.abandon()
	data := c.data
	d.members = nil
	if d.only != "" {
		return d.cutOnly(c)
	}
	if c.space(); !c.take('{') {
		return false
	}
	d.head = data[:c.at]
	names := make(map[string]bool)
	end := c.at // of the last member
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
		if !d.cutValue(c, m) {
			return false
		}
		end = c.at
	}
	d.tail = data[end : c.at-1]
	d.foot = data[c.at-1:]
	return d.finish(c)
}

// cutOnly is cut for a document of one member.
func (d *Document) cutOnly(c *parser) bool {
	d.head = c.data[:len(c.data)-len(bytes.TrimPrefix(c.data, byteOrderMark))]
	if c.space(); c.at < len(d.head) || !d.cutValue(c, &member{name: d.only, gap: c.data[len(d.head):c.at]}) {
		return false
	}
	d.tail = c.data[c.at:]
	return d.finish(c)
}

// cutValue adds m with the value that c finds.
func (d *Document) cutValue(c *parser, m *member) bool {
	d.members = append(d.members, m)
	return m.cut(c, d.idMember(m.name))
}

// cut sets the value of m to what c finds.
func (m *member) cut(c *parser, idMember string) bool {
	start := c.at
	if c.peek() == '[' {
		m.array = &array{}
		return c.array(m.array, idMember, c.reuseOf(m.name, idMember))
	}
	ok := c.value(deepest-1) && c.valid(start)
	m.value = c.data[start:c.at]
	return ok
}

// finish ends cut: the rest of the text must be white space.
func (d *Document) finish(c *parser) bool {
	if c.space(); c.at < len(c.plain) || !c.finish() {
		return false
	}
	if c.mostlyReused() {
		d.most = max(d.most, c.before.most)
		d.detach()
	}
	return true
}

// detach copies everything but the elements, which share the old text.
func (d *Document) detach() {
	own := []*[]byte{&d.head, &d.tail, &d.foot}
	for _, m := range d.members {
		own = append(own, &m.gap, &m.label, &m.value)
		if a := m.array; a != nil {
			own = append(own, &a.head, &a.tail, &a.foot)
		}
	}
	for _, b := range own {
		*b = bytes.Clone(*b)
	}
}

// parse sets the value of m, given its valid text.
func (m *member) parse(text []byte, idMember string) error {
	m.value, m.array = nil, nil
	c := newParser(text, plain(text))
	defer c.abandon()
	if !m.cut(c, idMember) || !c.finish() {
		return errors.New("cannot parse the value")
	}
	return nil
}
