package database

import (
	"cmp"
	"strings"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// conventions are the rules of a database and the settings for its ids.
type conventions struct {
	schema *schema.Schema
	member string        // Options.IDMember
	suffix string        // Options.KeySuffix
	ids    schema.IDKind // Options.IDs
	stored *storedRules  // of a shared store; nil: the store keeps none
}

// KeyOf returns the member by which records refer to one whose collection has this
// singular, without a schema.
func (o conventions) KeyOf(singular string) string { return singular + cmp.Or(o.suffix, "Id") }

// IDMember returns the name of the member that carries the ids of a collection's
// records.
func (o conventions) IDMember(collection string) string {
	return cmp.Or(o.schema.Member(collection).IDMember, o.member, schema.DefaultIDMember)
}

// IDMembers returns a function that returns the member with the ids of a collection in
// a database with these options, as a Store needs it before the database is open.
func IDMembers(o Options) func(collection string) string {
	return conventions{schema: o.Schema.WithIDMember(o.IDMember), member: o.IDMember}.IDMember
}

// IDKind returns the kind of a collection's new ids that is configured.
func (o conventions) IDKind(collection string) schema.IDKind {
	return cmp.Or(o.schema.Member(collection).IDKind, o.ids)
}

// newIDs returns the kind of a collection's new ids, which is not AutoIDs. like has the
// counts that decide it unless a kind is configured, or the schema has a type: of the
// collection's ids, or else of references to them. An empty collection follows the
// records of all others together.
func (s *Snapshot) newIDs(collection string, like idStats) schema.IDKind {
	kind := s.IDKind(collection)
	if kind == schema.AutoIDs || kind == "" {
		kind = s.schema.TypedIDs(collection, s.IDMember(collection))
	}
	if kind != schema.AutoIDs && kind != schema.TextIDs {
		return kind
	}
	if like.integers()+like.others == 0 {
		for _, c := range s.list {
			like.add(c.ids)
		}
	}
	switch {
	case like.integers() < like.others:
		return schema.UUIDs
	case like.numbers > like.strings && kind != schema.TextIDs:
		return schema.NumberIDs
	}
	return schema.TextIDs
}

// idStats counts the kinds of ids in a collection and keeps the greatest number
// that was ever one.
type idStats struct {
	member  string // that carries the id
	numbers int
	strings int // that spell an integer
	others  int
	high    string // the greatest integer, in decimal digits; "": none yet
}

// integers returns the number of ids that new integers would be like.
func (c *idStats) integers() int { return c.numbers + c.strings }

// count adds by, 1 or -1, to the counter for r's id.
func (c *idStats) count(r *Record, by int) {
	*c.kind(r) += by
	if by > 0 && rawjson.IsIndex(r.ID) {
		c.high = later(c.high, r.ID)
	}
}

// add adds the counts of o.
func (c *idStats) add(o idStats) {
	c.numbers += o.numbers
	c.strings += o.strings
	c.others += o.others
}

// join adds what o has counted of other records of the same collection.
func (c *idStats) join(o idStats) {
	c.add(o)
	c.inherit(o)
}

// inherit adds the greatest number of earlier ids.
func (c *idStats) inherit(old idStats) { c.high = later(c.high, old.high) }

// kind returns the counter for r's id, a new one if r has no usable id.
func (c *idStats) kind(r *Record) *int {
	if storage.IsPositionKey(r.ID) {
		return new(int)
	}
	switch v, _ := rawjson.Member(r.Value, c.member); {
	case v.Kind() != '"':
		return &c.numbers
	case integer(r.ID):
		return &c.strings
	}
	return &c.others
}

// next returns a new id of a kind as JSON text. taken reports whether a record has an
// id; random ones come from the source.
func (c *idStats) next(kind schema.IDKind, taken func(id string) bool, from *source) string {
	random := from.uuid
	switch kind {
	case schema.NumberIDs:
		return increment(c.high)
	case schema.TextIDs:
		return `"` + increment(c.high) + `"`
	case schema.ShortIDs:
		random = from.shortID
	}
	id := random()
	for taken(id) {
		id = random()
	}
	return `"` + id + `"`
}

// spelled returns an id that a client has chosen as JSON text: as a number if new ids of
// that kind are numbers.
func spelled(kind schema.IDKind, id string) string {
	if integer(id) && kind == schema.NumberIDs {
		return id
	}
	return string(rawjson.AppendQuote(nil, id))
}

// integer reports whether s is an integer without leading zeros.
func integer(s string) bool { return rawjson.IsIndex(strings.TrimPrefix(s, "-")) }

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
