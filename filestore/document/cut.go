package document

import (
	"bytes"
	"errors"
	"slices"
	"unicode/utf8"

	"pickup/internal/rawjson"
)

// parse is ParseMember without an explanation of errors: it returns nil if data is not valid.
func (f form) parse(data []byte, before *Document) *Document {
	d := &Document{
		form:   f,
		length: int64(len(data)),
		most:   int64(len(data)),
	}
	// Most files are plain JSON, which needs no blanked copy.
	c := newParser(data, data)
	c.editOf(before)
	d.strict = d.cut(c)
	if !d.strict {
		if f.json5 {
			data = withLineFeeds(data)
		}
		if !d.cut(f.newParser(data)) {
			return nil
		}
	}
	d.style = styleOf(d, data)
	d.escaped = isEscaped(data)
	return d
}

// KeyedBy returns the document with the ids of its elements in other fields.
func (d *Document) KeyedBy(idMember func(collection string) string) *Document {
	for _, m := range d.members {
		if m.array != nil && d.idMember(m.name) != idMember(m.name) {
			f := d.form
			f.idMember = idMember
			return f.parse(d.Bytes(), nil)
		}
	}
	n := *d
	n.idMember = idMember
	return &n
}

// withLineFeeds returns a text in JSON5 with a line feed after each line comment. In JSON5, though not
// in editors, three other characters also end the comment.
func withLineFeeds(data []byte) []byte {
	out := data
	for i := 0; i < len(data); {
		switch {
		case rawjson.IsQuote(data[i]):
			i = rawjson.SkipString(data, i)
		case bytes.HasPrefix(data[i:], []byte("/*")):
			i = max(i+1, rawjson.SkipComment(data, i))
		case bytes.HasPrefix(data[i:], []byte("//")):
			n := bytes.IndexAny(data[i:], "\n\r\u2028\u2029")
			if n < 0 {
				return out
			}
			i += n
			_, size := utf8.DecodeRune(data[i:])
			if data[i] != '\n' && !bytes.HasPrefix(data[i:], []byte("\r\n")) {
				out = bytes.Clone(out)
				copy(out[i:], "\n  "[:size])
			}
			i += size
		default:
			i++
		}
	}
	return out
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
	c.space()
	if !c.take('{') {
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
		m.name, ok = c.name()
		if !ok || names[m.name] {
			return false
		}
		names[m.name] = true
		c.space()
		if !c.take(':') {
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
	c.space()
	if c.at < len(d.head) { // comments are not blanked, nor is the byte order mark
		return false
	}
	if !d.cutValue(c, &member{name: d.only, gap: c.data[len(d.head):c.at]}) {
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
		return c.array(m.array, idMember, c.elementsBefore(m.name, idMember))
	}
	ok := c.skipValue(deepest-1) && c.valid(start)
	m.value = c.data[start:c.at]
	return ok
}

// finish ends cut: the rest of the text must be white space.
func (d *Document) finish(c *parser) bool {
	c.space()
	if c.at < len(c.plain) || !c.finish() {
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

// parseMember sets the value of m, given its valid text.
func (d *Document) parseMember(m *member, text []byte) error {
	m.value = nil
	m.array = nil
	c := d.newParser(text)
	defer c.abandon()
	if !m.cut(c, d.idMember(m.name)) || !c.finish() {
		return errors.New("cannot parse the value")
	}
	return nil
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
		isASCII := string(rest[i+2:i+4]) == "00" && rest[i+4] < '8'
		if rest[i+1] == 'u' && !isASCII {
			found = true
		}
		rest = rest[i+2:]
	}
	return found && !slices.ContainsFunc(data, func(c byte) bool { return c >= utf8.RuneSelf })
}
