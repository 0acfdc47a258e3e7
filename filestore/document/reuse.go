package document

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/ordered"
	"pickup/internal/storage"
)

// A reuse walks over the elements that an array had before an edit, alongside
// the new text.
type reuse struct {
	elems *ordered.Map[element]
	ahead []element // the next elements
	place int       // of the element after those
	buf   []element // memory of ahead
}

// editOf sets the document that the text is an edit of. It may be nil.
func (c *parser) editOf(before *Document) {
	if before == nil || !before.strict {
		return
	}
	c.before, c.oldArrays, c.buf = before, make(map[string]*array, len(before.members)), make([]element, 0, 32)
	for _, m := range before.members {
		if m.array != nil {
			c.oldArrays[m.name] = m.array
		}
	}
}

// reuseOf returns the elements before the edit of the array called name, or nil
// if they cannot be reused.
func (c *parser) reuseOf(name, idMember string) *reuse {
	was := c.oldArrays[name]
	if was == nil || was.elems.Len() == 0 || c.before.idMember(name) != idMember {
		return nil
	}
	return &reuse{elems: was.elems, buf: c.buf}
}

// next returns the next element if text begins with it. after reports whether
// text follows an element, not the bracket. The key is the element's id, or ""
// if it may have none.
func (f *reuse) next(text []byte, after bool) (e element, ok bool) {
	if f == nil {
		return e, false
	}
	if len(f.ahead) == 0 {
		f.lookAhead()
	}
	if len(f.ahead) == 0 {
		return e, false
	}
	e = f.ahead[0]
	if !bytes.HasPrefix(text, e.text) || bytes.IndexByte(e.before(), ',') >= 0 != after || continues(e.text, text[len(e.text):]) {
		return e, false
	}
	f.ahead = f.ahead[1:]
	if storage.IsPositionKey(e.key) {
		e.key = ""
	}
	return e, true
}

// continues reports whether the number or word that before ends with continues
// in after.
func continues(before, after []byte) bool {
	switch before[len(before)-1] {
	case '}', ']', '"':
		return false
	}
	return len(after) == 0 || bytes.IndexByte([]byte(" \t\r\n,]"), after[0]) < 0
}

// lookAhead reads some elements ahead.
func (f *reuse) lookAhead() {
	f.ahead = f.buf
	for place, e := range f.elems.From(f.place) {
		f.ahead = append(f.ahead, e)
		f.place = place + 1
		if len(f.ahead) == cap(f.buf) {
			return
		}
	}
}

// missed notes that the text has value instead of the next element. If value
// has the id of an old element, the elements after that one are expected next;
// otherwise value is an insertion. missed validates value and returns its id,
// or "".
func (f *reuse) missed(value jsontext.Value, idMember string) (id string) {
	if !value.IsValid() {
		return ""
	}
	id, ok := storage.ID(value, idMember)
	if !ok {
		if len(f.ahead) > 0 {
			f.ahead = f.ahead[1:]
		}
		return ""
	}
	if place, ok := f.elems.Place(id); ok {
		f.ahead, f.place = nil, place+1
	}
	return id
}

// mostlyNew reports whether looking for old elements costs more than it saves:
// values that are not found are validated here, not by the helpers.
func (c *parser) mostlyNew() bool { return c.notFound > 4<<10+len(c.plain)/16+c.reused/4 }

// mostlyReused reports whether reused elements are most of the text, and most of
// the memory that they would keep alive. This alone decides which text the new
// document refers to.
func (c *parser) mostlyReused() bool {
	return c.reused > 0 && int64(c.reused) > max(int64(len(c.data)), c.before.most)/2
}
