package database

import (
	"cmp"
	"slices"
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

// newIDs returns the kind of a collection's new ids. For AutoIDs the type in the
// schema comes before the example of other records, which may break it.
func (o conventions) newIDs(collection string) schema.IDKind {
	kind := o.IDKind(collection)
	if kind == schema.AutoIDs || kind == "" {
		return o.schema.Member(collection).TypedIDs(o.IDMember(collection))
	}
	return kind
}

// idStats counts the kinds of ids in a collection and keeps the greatest number
// that was ever one.
type idStats struct {
	member  string // that carries the id
	numbers int    // integers
	strings int    // strings that spell an integer
	others  int
	number  bool   // whether the latest id is a number
	high    string // the greatest integer, in decimal digits; "": none yet
}

// count adds by, 1 or -1, to the counter for r's id.
func (c *idStats) count(r *Record, by int) {
	n := c.kind(r)
	*n += by
	if by < 0 {
		return
	}
	c.number = n == &c.numbers
	if rawjson.IsIndex(r.ID) {
		c.high = later(c.high, r.ID)
	}
}

// join adds what o has counted of later records.
func (c *idStats) join(o idStats) {
	c.numbers += o.numbers
	c.strings += o.strings
	c.others += o.others
	c.number = o.number
	c.high = later(c.high, o.high)
}

// inherit adds what is known of earlier ids: the greatest number, and the kind if
// there are no others.
func (c *idStats) inherit(old idStats) {
	c.high = later(c.high, old.high)
	if c.numbers+c.strings+c.others == 0 {
		c.number = old.number
	}
}

// kind returns the counter for r's id, a new one if r has no usable id.
func (c *idStats) kind(r *Record) *int {
	switch {
	case storage.IsPositionKey(r.ID):
		return new(int)
	case !integer(r.ID):
		return &c.others
	}
	if v, _ := rawjson.Member(r.Value, c.member); v.Kind() == '"' {
		return &c.strings
	}
	return &c.numbers
}

// next returns a new id as JSON text. With AutoIDs, if all ids are integers, or all
// are strings that spell one, it is the next of these; in a collection that never
// had ids it is the string "1", or 1, see guess; otherwise it is a UUID. taken reports whether a
// record has an id; random ones come from the source.
func (c *idStats) next(kind schema.IDKind, taken func(id string) bool, from *source) string {
	random := from.uuid
	switch {
	case kind == schema.NumberIDs:
		return increment(c.high)
	case kind == schema.ShortIDs:
		random = from.shortID
	case kind == schema.UUIDs:
	case c.counted(kind):
		return increment(c.high)
	case c.others == 0 && (c.numbers == 0 || kind == schema.TextIDs):
		return `"` + increment(c.high) + `"`
	}
	id := random()
	for taken(id) {
		id = random()
	}
	return `"` + id + `"`
}

// counted reports whether new ids are numbers because all others are.
func (c *idStats) counted(kind schema.IDKind) bool {
	return kind != schema.TextIDs && c.others == 0 && c.strings == 0 && (c.numbers > 0 || c.number)
}

// guess makes the first id of a collection that never had one a number, if those of all
// other collections are.
func (c *idStats) guess(s *Snapshot) {
	if c.numbers+c.strings+c.others > 0 || c.high != "" || c.number {
		return
	}
	for _, other := range s.list {
		if ids := &other.ids; ids.strings+ids.others > 0 {
			return
		}
	}
	c.number = slices.ContainsFunc(s.list, func(other *collection) bool { return other.ids.numbers > 0 })
}

// spell returns an id that a client has chosen as JSON text: as a number if next
// returns numbers.
func (c *idStats) spell(kind schema.IDKind, id string) string {
	if integer(id) && (kind == schema.NumberIDs || c.counted(kind)) {
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
