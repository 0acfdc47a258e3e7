package document

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/ordered"
	"pickup/internal/storage"
)

// A former goes through the elements that an array had before an edit, beside
// those that it has now.
type former struct {
	elems *ordered.Map[element]
	ahead []element // those that come next
	place int       // of the first behind them
	room  []element // where ahead lies
}

// editOf says that the text was made of a document, which may be nil.
func (c *cutter) editOf(before *Document) {
	if before == nil || !before.strict {
		return
	}
	c.before, c.were, c.room = before, make(map[string]*array, len(before.members)), make([]element, 0, 32)
	for _, m := range before.members {
		if m.array != nil {
			c.were[m.name] = m.array
		}
	}
}

// former returns what the array of the member called name was before, nil where
// there was none that can be gone by.
func (c *cutter) former(name, idMember string) *former {
	was := c.were[name]
	if was == nil || was.elems.Len() == 0 || c.before.idMember(name) != idMember {
		return nil
	}
	return &former{elems: was.elems, room: c.room}
}

// next returns the next element if text, which follows an element of an array
// where behind is set and else the bracket, begins with it. Its key is its id,
// or "" where it may have none.
func (f *former) next(text []byte, behind bool) (e element, ok bool) {
	if f == nil {
		return e, false
	}
	if len(f.ahead) == 0 {
		f.look()
	}
	if len(f.ahead) == 0 {
		return e, false
	}
	e = f.ahead[0]
	if !bytes.HasPrefix(text, e.text) || bytes.IndexByte(e.before(), ',') >= 0 != behind || continues(e.text, text[len(e.text):]) {
		return e, false
	}
	f.ahead = f.ahead[1:]
	if storage.IsPositionKey(e.key) {
		e.key = ""
	}
	return e, true
}

// continues reports whether a number or a word may go on behind what it was
// before.
func continues(before, behind []byte) bool {
	switch before[len(before)-1] {
	case '}', ']', '"':
		return false
	}
	return len(behind) == 0 || bytes.IndexByte([]byte(" \t\r\n,]"), behind[0]) < 0
}

// look reads some elements ahead.
func (f *former) look() {
	f.ahead = f.room
	for place, e := range f.elems.From(f.place) {
		f.ahead = append(f.ahead, e)
		f.place = place + 1
		if len(f.ahead) == cap(f.room) {
			return
		}
	}
}

// missed tells that another value stands where the next element was expected.
// If it has the id of an element that was there, what follows is expected to be
// what followed that one; a new one stands between the others. It returns the
// id of a value that has been checked by that, and else "".
func (f *former) missed(value jsontext.Value, idMember string) (id string) {
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

// lost reports whether so little of the text is found again that it costs more
// to look for it than it saves: what is not found is checked where it is met,
// and not by the helpers.
func (c *cutter) lost() bool { return c.missed > 4<<10+len(c.plain)/16+c.same/4 }

// mostlyKnown reports whether most of the text is elements that are as they
// were before, and most of what these keep in memory is.
func (c *cutter) mostlyKnown() bool {
	return c.same > 0 && int64(c.same) > max(int64(len(c.data)), c.before.most)/2
}
