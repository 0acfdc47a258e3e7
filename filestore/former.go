package filestore

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"pickup"
	"pickup/internal/ordered"
)

// A former goes through the elements that an array had before an edit, beside
// those that it has now. nil is one without any.
type former struct {
	elems *ordered.Map[element]
	ahead []element // those that come next
	place int       // of the first behind them

	hits, misses int
}

// former returns what the array of the member called name was before, nil where
// there was none that can be gone by.
func (c *cutter) former(name, idMember string) *former {
	if c.before == nil || !c.before.strict || c.before.idMember(name) != idMember {
		return nil
	}
	if c.were == nil {
		c.were = make(map[string]*array, len(c.before.members))
		for _, m := range c.before.members {
			c.were[m.name] = m.array
		}
	}
	if a := c.were[name]; a != nil {
		return &former{elems: a.elems}
	}
	return nil
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
	f.hits++
	if pickup.IsPositionKey(e.key) {
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
	f.ahead = make([]element, 0, 64)
	for place, e := range f.elems.From(f.place) {
		f.ahead = append(f.ahead, e)
		f.place = place + 1
		if len(f.ahead) == cap(f.ahead) {
			break
		}
	}
}

// missed tells that another value stands where the next element was expected.
// If it has the id of an element that was there, what follows is expected to be
// what followed that one; a new one stands between the others. A text in which
// little is found again is not searched any longer.
func (f *former) missed(value jsontext.Value, idMember string) {
	if f == nil {
		return
	}
	if f.misses++; f.misses > 100+f.hits/4 {
		f.ahead, f.place = nil, f.elems.Next()
		return
	}
	if !value.IsValid() {
		return
	}
	id, ok := pickup.ID(value, idMember)
	if !ok {
		if len(f.ahead) > 0 {
			f.ahead = f.ahead[1:]
		}
		return
	}
	if place, ok := f.elems.Place(id); ok {
		f.ahead, f.place = nil, place+1
	}
}
