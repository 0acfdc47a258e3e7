package database

import (
	"strconv"
	"strings"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// idStats counts the kinds of ids in a collection and keeps the greatest number
// that was ever one.
type idStats struct {
	member  string // the field with the id
	numbers int
	strings int // strings that spell an integer
	others  int
	high    int64 // the greatest integer with fewer than 19 digits
}

// integers returns the number of ids that are integers, or strings that spell an integer.
func (c *idStats) integers() int {
	return c.numbers + c.strings
}

// count adds by, 1 or -1, to the counter for r's id.
func (c *idStats) count(r *Record, by int) {
	*c.kind(r) += by
	if by > 0 {
		c.sees(r.ID)
	}
}

// sees notes an id that is in use.
func (c *idStats) sees(id string) {
	if rawjson.IsIndex(id) && len(id) < 19 { // nobody counts further
		n, _ := strconv.ParseInt(id, 10, 64)
		c.high = max(c.high, n)
	}
}

// join adds the counts of o, for other records.
func (c *idStats) join(o idStats) {
	c.numbers += o.numbers
	c.strings += o.strings
	c.others += o.others
	c.inherit(o)
}

// inherit adds the greatest number of earlier ids.
func (c *idStats) inherit(old idStats) {
	c.high = max(c.high, old.high)
}

// kind returns the counter for the id of r, or a new counter if r has no usable id.
func (c *idStats) kind(r *Record) *int {
	if storage.IsPositionKey(r.ID) {
		return new(int)
	}
	v, _ := rawjson.Member(r.Value, c.member)
	if v.Kind() != '"' {
		return &c.numbers
	}
	if integer(r.ID) {
		return &c.strings
	}
	return &c.others
}

// next returns a new id of a kind as JSON text. The function taken reports whether a record has
// an id. Random ids come from the clock.
func (c *idStats) next(kind schema.IDKind, taken func(id string) bool, from *clock) string {
	another := from.uuid
	n := c.high
	switch kind {
	case schema.NumberIDs, schema.TextIDs:
		another = func() string {
			n++
			return strconv.FormatInt(n, 10)
		}
	case schema.ShortIDs:
		another = from.shortID
	}
	id := another()
	for taken(id) {
		id = another()
	}
	if kind == schema.NumberIDs {
		return id
	}
	return `"` + id + `"`
}

// spelled returns an id from a client as JSON text: a number if new ids of that kind are
// numbers.
func spelled(kind schema.IDKind, id string) string {
	if integer(id) && kind == schema.NumberIDs {
		return id
	}
	return string(rawjson.AppendQuote(nil, id))
}

// integer reports whether s is an integer without leading zeros.
func integer(s string) bool {
	return rawjson.IsIndex(strings.TrimPrefix(s, "-"))
}
