package document

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/ordered"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A parser finds the members of a document and the elements of its arrays. The parser looks
// only at brackets, quotes and the text between values. Validation takes several times as
// long, so helpers validate the elements in chunks while the parser continues.
//
// If the text is an edit of a known document, unchanged elements share the memory of that
// document; see fill.
//
// The helpers end before the document is returned.
type parser struct {
	data      []byte // the text
	plain     []byte // the text with its comments blanked
	json5     bool   // plain is JSON5
	chunkSize int    // see the constant; smaller in tests
	at        int    // offset in data and plain
	spaced    bool   // the last value has white space between its tokens

	before    *Document         // what the text is an edit of, or nil
	oldArrays map[string]*array // its arrays by name
	reused    atomic.Int64      // bytes of elements found unchanged

	arrays  []*parsedArray
	helpers sync.WaitGroup
	bad     atomic.Bool // the text is invalid
}

// A parsedArray is an array with the elements found so far.
type parsedArray struct {
	*array
	idMember string
	was      *ordered.Map[element] // the elements before the edit, or nil
	chunks   []*chunk
}

// A chunk is a part of an array. A helper validates one chunk at a time.
type chunk struct {
	at       int       // offset of the gap before the first element
	elements []element // once validated with their ids as keys, or ""
}

// chunkSize is the size in bytes from which a chunk is full: enough to be
// worth a handover, and little enough to keep all processors busy.
const chunkSize = 256 << 10

// newParser returns the parser of data; plain is data with its comments blanked.
func newParser(data, plain []byte) *parser {
	return &parser{data: data, plain: plain, chunkSize: chunkSize}
}

// newParser returns the parser of a text that may have comments.
func (f form) newParser(data []byte) *parser {
	if !f.json5 {
		return newParser(data, rawjson.Blanked(data))
	}
	c := newParser(data, rawjson.BlankedJSON5(data))
	c.json5 = true
	return c
}

// value returns a part of the text without comments as JSON.
func (c *parser) value(text []byte) jsontext.Value {
	if c.json5 {
		text, _ = rawjson.FromJSON5(text)
	}
	return text
}

// peek returns the next byte, or 0 at the end.
func (c *parser) peek() byte {
	if c.at < len(c.plain) {
		return c.plain[c.at]
	}
	return 0
}

// take reads the byte b and reports whether it came next.
func (c *parser) take(b byte) bool {
	if c.peek() != b {
		return false
	}
	c.at++
	return true
}

// space reads white space.
func (c *parser) space() {
	c.at = rawjson.SkipSpace(c.plain, c.at)
}

// name reads the name of a member and returns it unquoted.
func (c *parser) name() (spelled string, ok bool) {
	start := c.at
	if !c.skipValue(0) {
		return "", false
	}
	quoted := jsontext.Value(c.plain[start:c.at])
	if c.json5 {
		quoted = rawjson.NameOfJSON5(quoted)
	}
	if quoted.Kind() != '"' || !quoted.IsValid() {
		return "", false
	}
	return rawjson.Unquote(quoted), true
}

// valid reports whether the text from start on is a valid value.
func (c *parser) valid(start int) bool {
	return c.value(c.plain[start:c.at]).IsValid()
}

// skipValue reads a value without validation. It reports false if there is no complete value, or
// if the value nests deeper than most.
func (c *parser) skipValue(most int) bool {
	start := c.at
	switch c.peek() {
	case '"', '\'':
		c.at = rawjson.SkipString(c.plain, c.at)
	case '{', '[':
		return c.skipList(most)
	default:
		for c.at < len(c.plain) && strings.IndexByte(" \t\r\n,:]}", c.plain[c.at]) < 0 {
			c.at++
		}
	}
	return c.at > start
}

// skipList is skipValue for an object or array.
func (c *parser) skipList(most int) bool {
	b := c.plain
	depth := 0
	for i := c.at; i < len(b); {
		switch b[i] {
		case '"', '\'':
			i = rawjson.SkipString(b, i)
			continue
		case ' ', '\t', '\r', '\n':
			c.spaced = true
		case '{', '[':
			depth++
			if depth > most {
				return false
			}
		case '}', ']':
			depth--
			if depth == 0 {
				c.at = i + 1
				return true
			}
		}
		i++
	}
	return false
}

// array reads an array into a; finish sets the elements. was has the elements before the edit,
// or is nil.
func (c *parser) array(a *array, idMember string, was *ordered.Map[element]) bool {
	start := c.at
	if !c.take('[') {
		return false
	}
	a.head = c.data[start:c.at]
	parsed := &parsedArray{array: a, idMember: idMember, was: was}
	c.arrays = append(c.arrays, parsed)
	open := &chunk{at: c.at}
	end := c.at // of the last element
	for first := true; ; first = false {
		e, ok := c.element(first)
		if !ok {
			return false
		}
		if e.text == nil {
			break
		}
		open.elements = append(open.elements, e)
		end = c.at
		if end-open.at >= c.chunkSize {
			full := open
			parsed.chunks = append(parsed.chunks, full)
			c.helpers.Go(func() { c.check(full, parsed) })
			open = &chunk{at: end, elements: make([]element, 0, len(full.elements)+len(full.elements)/8)}
		}
	}
	if len(open.elements) > 0 {
		parsed.chunks = append(parsed.chunks, open)
		c.check(open, parsed)
	}
	a.tail = c.data[end : c.at-1]
	a.foot = c.data[c.at-1 : c.at]
	return true
}

// element reads the next element of an array, or the closing bracket, for which it returns an
// element without a text. It reports false if the text is not valid.
func (c *parser) element(first bool) (e element, ok bool) {
	start := c.at
	c.space()
	if c.take(']') {
		return e, true
	}
	if !first {
		if !c.take(',') {
			return e, false
		}
		c.space()
	}
	gap := c.at - start
	c.spaced = false
	if !c.skipValue(deepest-2) || c.bad.Load() {
		return e, false
	}
	return element{text: c.data[start:c.at], gap: uint32(gap), compact: !c.spaced}, true
}

// check validates the elements of a chunk and finds their ids. An element that has not changed
// gets the text from before the edit, which is valid.
func (c *parser) check(s *chunk, a *parsedArray) {
	if c.bad.Load() {
		return
	}
	at := s.at
	slot := 0 // of the next element before the edit
	for i := range s.elements {
		e := &s.elements[i]
		v := c.value(c.plain[at+int(e.gap) : at+len(e.text)])
		at += len(e.text)
		if c.reuse(a, e, slot) {
			slot++
			continue
		}
		if !v.IsValid() {
			c.bad.Store(true)
			return
		}
		e.key, _ = storage.ID(v, a.idMember)
		if a.was == nil {
			continue
		}
		if old, ok := a.was.Slot(e.key); ok {
			c.reuse(a, e, old)
			slot = old + 1
		}
	}
}

// reuse replaces e by the element that the array had in a slot before the edit, if both have the
// same text, and reports whether they have.
func (c *parser) reuse(a *parsedArray, e *element, slot int) bool {
	if a.was == nil {
		return false
	}
	old, ok := a.was.At(slot)
	if !ok || storage.IsPositionKey(old.key) || !bytes.Equal(old.text, e.text) {
		return false
	}
	e.key = old.key
	e.text = old.text
	c.reused.Add(int64(len(e.text)))
	return true
}

// finish fills the arrays. It reports false if an element is invalid.
func (c *parser) finish() bool {
	c.helpers.Wait()
	if c.bad.Load() {
		return false
	}
	for _, a := range c.arrays {
		c.fill(a)
	}
	return true
}

// abandon ends the helpers of a parser that has not finished.
func (c *parser) abandon() {
	c.bad.Store(true)
	c.helpers.Wait()
}

// fill moves the elements into their array. All elements share the memory of one text, so
// that the garbage collector can free the other text. If most of the old text is reused, the
// elements share the old text, and fill copies new elements. Otherwise they share the new text.
func (c *parser) fill(a *parsedArray) {
	n := 0
	for _, s := range a.chunks {
		n += len(s.elements)
	}
	keys := storage.NewKeys(a.idMember)
	a.elems = ordered.New(n, func(yield func(string, element) bool) {
		for _, s := range a.chunks {
			at := s.at
			for _, e := range s.elements {
				text := c.data[at : at+len(e.text)]
				at += len(text)
				if !c.mostlyReused() {
					e.text = text
				} else if &e.text[0] == &text[0] {
					e.text = bytes.Clone(text)
				}
				e.key = keys.Give(e.key)
				a.count(e.key, 1)
				yield(e.key, e)
			}
		}
	})
}

// editOf sets the document that the text is an edit of, or nil.
func (c *parser) editOf(before *Document) {
	if before == nil || !before.strict {
		return
	}
	c.before = before
	c.oldArrays = make(map[string]*array, len(before.members))
	for _, m := range before.members {
		if m.array != nil {
			c.oldArrays[m.name] = m.array
		}
	}
}

// elementsBefore returns the elements before the edit of the array called name, or nil if they
// cannot be reused.
func (c *parser) elementsBefore(name, idMember string) *ordered.Map[element] {
	was := c.oldArrays[name]
	if was == nil || c.before.idMember(name) != idMember {
		return nil
	}
	return was.elems
}

// mostlyReused reports whether reused elements are most of the text, and most of the memory that
// the elements would keep alive. The new document then shares the old text, otherwise the new text.
func (c *parser) mostlyReused() bool {
	reused := c.reused.Load()
	return reused > 0 && reused > max(int64(len(c.data)), c.before.most)/2
}
