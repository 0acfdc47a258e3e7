package database

import (
	"cmp"
	"crypto/rand"
	"strings"

	"github.com/google/uuid"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// conventions are what the records of a database have in common.
type conventions struct {
	schema *schema.Schema
	member string        // Options.IDMember
	ids    schema.IDKind // Options.IDs
}

// idMember returns the member that carries the ids of a collection's records.
func (o conventions) idMember(collection string) string {
	return cmp.Or(o.schema.Member(collection).IDMember, o.member, schema.DefaultIDMember)
}

// IDKind returns how the ids of a collection's new records are made.
func (o conventions) IDKind(collection string) schema.IDKind {
	return cmp.Or(o.schema.Member(collection).IDKind, o.ids)
}

// newIDs returns how the ids of a collection's new records are made. Where they
// are to be as the others are, the type that the schema gives them comes first:
// there may be no others, and they may be what it forbids.
func (o conventions) newIDs(collection string) schema.IDKind {
	kind := o.IDKind(collection)
	if kind == schema.AutoIDs || kind == "" {
		return o.schema.Member(collection).TypedIDs(o.idMember(collection))
	}
	return kind
}

// idStats counts the kinds of ids that a collection holds and keeps the greatest
// number among all that it ever held.
type idStats struct {
	member  string // that carries the id
	numbers int    // integers
	strings int    // strings that spell an integer
	others  int    //
	number  bool   // whether the id that came last is a number
	high    string // the greatest integer, in decimal digits; "": none yet
}

func (c *idStats) add(r *Record) {
	n := c.kind(r)
	*n++
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

// inherit takes over what is known of ids that were there before: the greatest
// number, and in a collection without any what kind they were.
func (c *idStats) inherit(old idStats) {
	c.high = later(c.high, old.high)
	if c.numbers+c.strings+c.others == 0 {
		c.number = old.number
	}
}

func (c *idStats) remove(r *Record) { *c.kind(r)-- }

// kind returns the counter for r's id. An element without a usable id says
// nothing of what a next id looks like: its counter is one that nobody reads.
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

// next returns a new id as JSON text. With AutoIDs, where all ids are integers,
// or all are strings that spell one, it is the next of these; in a collection
// that never held any it is "1", a string; else it is a UUID. taken reports
// whether an id, as text, is some record's already.
func (c *idStats) next(kind schema.IDKind, taken func(id string) bool) string {
	switch {
	case kind == schema.NumberIDs:
		return increment(c.high)
	case kind == schema.ShortIDs:
		id := shortID()
		for taken(id) {
			id = shortID()
		}
		return `"` + id + `"`
	case kind == schema.UUIDs:
	case c.counted(kind):
		return increment(c.high)
	case c.others == 0 && (c.numbers == 0 || kind == schema.TextIDs):
		return `"` + increment(c.high) + `"`
	}
	return `"` + uuid.Must(uuid.NewV7()).String() + `"`
}

// counted reports whether new ids are numbers because all others are.
func (c *idStats) counted(kind schema.IDKind) bool {
	return kind != schema.TextIDs && c.others == 0 && c.strings == 0 && (c.numbers > 0 || c.number)
}

// shortID returns a random id without letters that are read as digits. Its
// first character is a letter, so that it is never taken for a number.
func shortID() string {
	const letters, all = "abcdefghjkmnpqrstvwxyz", "abcdefghjkmnpqrstvwxyz0123456789"
	b := make([]byte, 6)
	rand.Read(b) // never fails (crypto/rand)
	for i := range b {
		b[i] = all[b[i]%32]
	}
	if rawjson.IsIndex(string(b[:1])) {
		b[0] = letters[b[0]-'0'] // rather less even than slower
	}
	return string(b)
}

// spell returns an id that a client has chosen as JSON text: a number where
// next makes numbers.
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
