package pickup

import (
	"strings"

	"github.com/google/uuid"
)

// A census counts the kinds of ids that a collection holds and remembers the
// greatest number among all that it ever held.
type census struct {
	numbers int // integers
	strings int // strings that spell an integer
	others  int
	number  bool   // whether the id that came last is a number
	high    string // the greatest integer, in decimal digits; "": none yet
}

func (c *census) add(r *Record) {
	n := c.kind(r)
	*n++
	c.number = n == &c.numbers
	if digits(r.ID) {
		c.high = later(c.high, r.ID)
	}
}

// inherit takes over what is known of ids that were there before: the greatest
// number, and in a collection without any what kind they were.
func (c *census) inherit(old census) {
	c.high = later(c.high, old.high)
	if c.numbers+c.strings+c.others == 0 {
		c.number = old.number
	}
}

func (c *census) remove(r *Record) { *c.kind(r)-- }

// kind returns the counter for r's id. An element without a usable id says
// nothing of what a next id looks like: its counter is one that nobody reads.
func (c *census) kind(r *Record) *int {
	switch {
	case IsPositionKey(r.ID):
		return new(int)
	case !integer(r.ID):
		return &c.others
	}
	if v, _ := member(r.Value, idMember); v.Kind() == '"' {
		return &c.strings
	}
	return &c.numbers
}

// next returns a new id as JSON text. Where all ids are integers, or all are
// strings that spell one, it is the next of these; in a collection that never
// held any it is "1", a string; else it is a UUID of version 7 (RFC 9562).
func (c *census) next() string {
	switch {
	case c.others == 0 && c.strings == 0 && (c.numbers > 0 || c.number):
		return increment(c.high)
	case c.others == 0 && c.numbers == 0:
		return `"` + increment(c.high) + `"`
	}
	return `"` + uuid.Must(uuid.NewV7()).String() + `"`
}

// spell returns an id that a client has chosen as JSON text.
func (c *census) spell(id string) string {
	if integer(id) && c.others == 0 && c.strings == 0 && (c.numbers > 0 || c.number) {
		return id
	}
	return string(appendName(nil, id))
}

// digits reports whether s is a natural number without leading zeros.
func digits(s string) bool {
	if s == "" || s[0] == '0' && len(s) > 1 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// integer reports whether s is an integer without leading zeros.
func integer(s string) bool { return digits(strings.TrimPrefix(s, "-")) }

// later returns the greater of two natural numbers of any length; "" is less
// than all.
func later(a, b string) string {
	if len(a) > len(b) || len(a) == len(b) && a > b {
		return a
	}
	return b
}

// increment returns the natural number after s, 1 after "".
func increment(s string) string {
	b := []byte(s)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < '9' {
			b[i]++
			return string(b)
		}
		b[i] = '0'
	}
	return "1" + string(b)
}
