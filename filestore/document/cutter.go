package document

import (
	"bytes"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/ordered"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A cutter goes through a text from begin to end and finds where its members
// and the elements of its arrays are. It looks at no more than brackets, quotes
// and what stands between values; whether a value is JSON at all is for the
// parser, which costs several times as much. So elements are checked in
// stretches, on as many processors as there are, while the cutter goes on.
//
// Where it is known what the text was made of, elements that are as they were
// before are neither cut nor checked again.
//
// Goroutines that help it end before the document is handed out.
type cutter struct {
	data, plain []byte // the text, and the same with comments blanked
	full        int    // see stretchSize
	at          int    // in both
	loose       bool   // there was white space in the last value

	before *Document         // what the text was made of; nil: nobody knows
	were   map[string]*array // its arrays by name
	room   []element         // for a former
	same   int               // bytes of elements that are as they were before
	missed int               // bytes of those that were looked for, and are not

	arrays  []*cutArray
	todo    chan *stretch // made when there is more than one; nil: none yet
	helpers sync.WaitGroup
	bad     atomic.Bool // no document comes of it: a stretch is no JSON, or the rest
}

// A cutArray is an array whose elements have been cut.
type cutArray struct {
	*array
	idMember  string
	stretches []*stretch
}

// A stretch is some neighbours among an array's elements.
type stretch struct {
	plain    []byte // their text from the first gap on
	at       int    // where that is in the whole
	idMember string
	elements []element // once they are checked, keys are their ids; "" where one has none
}

// stretchSize is from where on a stretch is full, in bytes: enough to be worth
// handing over, and small enough that all processors have some.
const stretchSize = 256 << 10

// newCutter returns the cutter of data; plain is the same text with comments
// blanked.
func newCutter(data, plain []byte) *cutter {
	return &cutter{data: data, plain: plain, full: stretchSize}
}

// peek returns the next byte, or 0 at the end.
func (c *cutter) peek() byte {
	if c.at < len(c.plain) {
		return c.plain[c.at]
	}
	return 0
}

// take reports whether the next byte is b, and if so goes on behind it.
func (c *cutter) take(b byte) bool {
	if c.peek() != b {
		return false
	}
	c.at++
	return true
}

// space goes on behind white space.
func (c *cutter) space() {
	for c.at < len(c.plain) {
		switch c.plain[c.at] {
		case ' ', '\t', '\r', '\n':
			c.at++
		default:
			return
		}
	}
}

// name goes on behind a member's name and returns what it spells.
func (c *cutter) name() (spelled string, ok bool) {
	start := c.at
	if c.peek() != '"' || !c.value(0) || !c.valid(start) {
		return "", false
	}
	return rawjson.Unquote(c.plain[start:c.at]), true
}

// valid reports whether what has been cut since start is JSON.
func (c *cutter) valid(start int) bool { return jsontext.Value(c.plain[start:c.at]).IsValid() }

// value goes on behind the next value, taking it for JSON. It reports false
// where none begins or ends, and where it has more than most brackets within
// each other.
func (c *cutter) value(most int) bool {
	start := c.at
	switch c.peek() {
	case '"':
		c.at = rawjson.SkipString(c.plain, c.at)
	case '{', '[':
		return c.brackets(most)
	default:
		for c.at < len(c.plain) && strings.IndexByte(" \t\r\n,:]}", c.plain[c.at]) < 0 {
			c.at++
		}
	}
	return c.at > start
}

// brackets is value for an object or array.
func (c *cutter) brackets(most int) bool {
	b, depth := c.plain, 0
	for i := c.at; i < len(b); {
		switch b[i] {
		case '"':
			i = rawjson.SkipString(b, i)
			continue
		case ' ', '\t', '\r', '\n':
			c.loose = true
		case '{', '[':
			if depth++; depth > most {
				return false
			}
		case '}', ']':
			if depth--; depth == 0 {
				c.at = i + 1
				return true
			}
		}
		i++
	}
	return false
}

// array cuts the array that is next. Its elements are in it when finish has
// been called. was is what it had before.
func (c *cutter) array(a *array, idMember string, was *former) bool {
	start := c.at
	if !c.take('[') {
		return false
	}
	a.head = c.data[start:c.at]
	cut := &cutArray{array: a, idMember: idMember}
	c.arrays = append(c.arrays, cut)
	start = c.at // of the stretch
	end := start // of the last element
	var elements []element
	hand := func() {
		s := &stretch{plain: c.plain[start:end], at: start, idMember: idMember, elements: elements}
		cut.stretches = append(cut.stretches, s)
		c.check(s)
		start, elements = end, make([]element, 0, len(elements)+len(elements)/8)
	}
	for n := 0; ; n++ {
		if e, ok := was.next(c.plain[end:], n > 0); ok {
			c.at = end + len(e.text)
			c.same += len(e.text)
			elements = append(elements, e)
		} else {
			if c.space(); c.take(']') {
				break
			}
			if n > 0 {
				if !c.take(',') {
					return false
				}
				c.space()
			}
			gap := c.at - end
			c.loose = false
			if !c.value(deepest-2) || c.bad.Load() {
				return false
			}
			e := element{text: c.data[end:c.at], gap: uint32(gap), tight: !c.loose}
			if was != nil {
				e.key = was.missed(c.plain[end+gap:c.at], idMember)
				if c.missed += len(e.text); c.lost() {
					was = nil
				}
			}
			elements = append(elements, e)
		}
		if end = c.at; end-start >= c.full {
			hand()
		}
	}
	if len(elements) > 0 {
		hand()
	}
	a.tail = c.data[end : c.at-1]
	a.foot = c.data[c.at-1 : c.at]
	return true
}

// check has a stretch checked: by a helper where it is full, for then there may
// be more of them.
func (c *cutter) check(s *stretch) {
	if len(s.plain) < c.full {
		c.checkNow(s)
		return
	}
	if c.todo == nil {
		c.todo = make(chan *stretch, len(c.plain)/c.full)
		for range runtime.GOMAXPROCS(0) - 1 {
			c.helpers.Go(c.help)
		}
	}
	c.todo <- s // has room, for there are no more than that
}

// help checks stretches until there are no more.
func (c *cutter) help() {
	for s := range c.todo {
		c.checkNow(s)
	}
}

// checkNow finds out whether the values of a stretch are JSON, and their ids.
func (c *cutter) checkNow(s *stretch) {
	if c.bad.Load() {
		return
	}
	at := 0
	for i := range s.elements {
		e := &s.elements[i]
		v := jsontext.Value(s.plain[at+int(e.gap) : at+len(e.text)])
		at += len(e.text)
		if e.key != "" {
			continue // it has been checked before
		}
		if !v.IsValid() {
			c.bad.Store(true)
			return
		}
		e.key, _ = storage.ID(v, s.idMember)
	}
}

// finish puts the elements into their arrays. It reports false where one of
// them is no JSON.
func (c *cutter) finish() bool {
	c.stop()
	if c.bad.Load() {
		return false
	}
	for _, a := range c.arrays {
		c.fill(a)
	}
	return true
}

// abandon ends the helpers where nothing comes of it.
func (c *cutter) abandon() {
	c.bad.Store(true)
	c.stop()
}

// stop waits for the helpers, and helps them.
func (c *cutter) stop() {
	if c.todo != nil {
		close(c.todo)
		c.help()
		c.helpers.Wait()
		c.todo = nil
	}
}

// fill puts the elements that have been cut into their array. They are pieces of
// one text: of the one before where most of it has stayed, and what is new is
// copied; else of this one. So the other can go.
func (c *cutter) fill(a *cutArray) {
	n := 0
	for _, s := range a.stretches {
		n += len(s.elements)
	}
	keys := storage.NewKeys(a.idMember)
	a.elems = ordered.New(n, func(yield func(string, element) bool) {
		for _, s := range a.stretches {
			at := s.at
			for _, e := range s.elements {
				text := c.data[at : at+len(e.text)]
				at += len(text)
				switch {
				case !c.mostlyKnown():
					e.text = text
				case &e.text[0] == &text[0]:
					e.text = bytes.Clone(text)
				}
				e.key = keys.Give(e.key)
				a.count(e.key, 1)
				yield(e.key, e)
			}
		}
	})
}
