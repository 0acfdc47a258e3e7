// Package fake makes records that follow the rules of a database and look like the existing
// records.
//
// A value (value.go) comes from the first of these that is known for its field (model.go): the
// values that the rules list, the id of a referenced record, the format or the name of the field
// (words.go), the values of other records, examples, and the type with its bounds. Invalid
// records are made again, finally with required fields only.
package fake

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/describe"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// A Count is the number of records to add to a collection.
type Count struct {
	Collection string
	N          int
}

const (
	tries      = 20  // for a record, and for a value
	maxSamples = 500 // records of a collection to imitate
)

// Make adds records to collections, referenced collections first, and returns their ids. The
// same database, seed and time give the same records. The times of records are around now,
// unless the collection has times. The error is a *database.FaultError if a record cannot be made.
func Make(tx *database.Tx, counts []Count, seed uint64, now time.Time) (map[string][]string, error) {
	tx.Repeat(seed, now)
	g := &generator{
		Rand:      rand.New(rand.NewPCG(seed, 1)),
		tx:        tx,
		now:       now.UTC().Truncate(time.Minute),
		relations: tx.Snapshot().Relations(maxSamples),
	}
	made := make(map[string][]string)
	for _, c := range Order(counts, g.relations) {
		if err := g.start(c.Collection); err != nil {
			return nil, err
		}
		for i := range c.N {
			r, err := g.record()
			if _, invalid := errors.AsType[*database.FaultError](err); invalid {
				return nil, refuse("record %d of %s: %v", i+1, c.Collection, err)
			}
			if err != nil {
				return nil, err
			}
			made[c.Collection] = append(made[c.Collection], r.ID)
			g.allowReferencesTo(r)
		}
	}
	return made, nil
}

func refuse(format string, args ...any) error {
	faults := []schema.Fault{{Detail: fmt.Sprintf(format, args...)}}
	return &database.FaultError{Kind: storage.ErrInvalid, Faults: faults}
}

// Order returns counts with each collection after the collections that its records refer to.
func Order(counts []Count, relations []database.Relation) (ordered []Count) {
	left := slices.Clone(counts)
	waits := func(c Count) bool {
		return slices.ContainsFunc(relations, func(r database.Relation) bool {
			return r.From == c.Collection && r.To != r.From &&
				slices.ContainsFunc(left, func(c Count) bool { return c.Collection == r.To })
		})
	}
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(c Count) bool { return !waits(c) })
		i = max(i, 0) // the collections refer to each other
		ordered = append(ordered, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return ordered
}

// A generator makes records, of one collection after the other.
type generator struct {
	*rand.Rand
	tx        *database.Tx
	now       time.Time
	relations []database.Relation

	collection string
	rules      *schema.Rules
	doc        jsontext.Value // the document that the references of schemas lead into
	samples    []jsontext.Value
	refs       map[string][]jsontext.Value // ids of referenced records by field
	root       *fieldModel
	varies     bool              // some schema has branches
	try        int               // number of failed attempts at the record
	who        map[string]string // the current person and city, or nil
}

// start prepares for the records of a collection.
func (g *generator) start(collection string) error {
	snap := g.tx.Snapshot()
	g.collection = collection
	g.rules = snap.Schema().Member(collection)
	g.samples = nil
	g.refs = make(map[string][]jsontext.Value)
	g.varies = false
	for r := range snap.All(collection) {
		g.samples = append(g.samples, r.Value)
		if len(g.samples) == maxSamples {
			break
		}
	}
	g.readSchemas()
	if len(g.root.fields) == 0 {
		return refuse("%s has no records to imitate, and no rules for records: add one by hand first", collection)
	}

	for _, r := range g.relations {
		if r.From != collection || len(g.refs[r.Member]) > 0 {
			continue
		}
		ids := []jsontext.Value{}
		for to := range snap.All(r.To) {
			if id, ok := rawjson.Member(to.Value, snap.IDMember(r.To)); ok {
				ids = append(ids, id)
			}
		}
		g.refs[r.Member] = ids
		f := g.open(g.root.field(r.Member))
		if f.required && len(ids) == 0 && !r.List && !f.allows("null") {
			return refuse("%s: %s refers to %s, which has no records: make some too", collection, r.Member, r.To)
		}
	}
	return nil
}

// allowReferencesTo lets the next records of the collection refer to r.
func (g *generator) allowReferencesTo(r *database.Record) {
	id, _ := rawjson.Member(r.Value, g.tx.Snapshot().IDMember(g.collection))
	for _, rel := range g.relations {
		if rel.From == g.collection && rel.To == g.collection {
			g.refs[rel.Member] = append(g.refs[rel.Member], id)
		}
	}
}

// readSchemas reads the schemas of the records, with one branch of each choice.
func (g *generator) readSchemas() {
	snap := g.tx.Snapshot()
	g.root = newModel(spell.Singular(g.collection), "", func() jsontext.Value { return pick(g, g.samples) })
	g.doc = rawjson.Compact(snap.Schema().Text())
	for _, at := range g.rules.RecordLocations {
		g.read(g.root, rawjson.At(g.doc, at))
	}
	if len(g.samples) == 0 {
		return
	}

	// Records may have fields that the schemas do not mention.
	rules := g.doc
	known := len(g.root.fields)
	g.doc = rawjson.Compact(describe.InferSchema(snap))
	inferred := &fieldModel{sample: g.root.sample}
	g.read(inferred, rawjson.At(g.doc, rawjson.Pointer("properties", g.collection, "items")))
	for _, f := range inferred.fields {
		g.root.field(f.name)
		if len(g.root.fields) > known {
			known++
			g.root.fields[known-1] = f
		}
	}
	g.doc = rules
}

// record makes a record that the rules allow.
func (g *generator) record() (r *database.Record, err error) {
	for g.try = range tries {
		g.who = nil
		if g.varies {
			g.readSchemas()
		}
		r, err = g.tx.Put(database.Create, g.collection, "", g.object(g.root, 0))
		if _, invalid := errors.AsType[*database.FaultError](err); !invalid {
			break
		}
	}
	return r, err
}

// recordField makes the value of a top-level field of the record, or returns nil to omit the
// field.
func (g *generator) recordField(f *fieldModel) jsontext.Value {
	if g.isFilledIn(f) {
		return nil
	}
	required := f.required || slices.Contains(g.rules.RequiredOnCreate, f.name)
	if !required && !g.includes(g.root, f) {
		return nil
	}
	ids, refers := g.refs[f.name]
	if refers {
		return g.reference(f, ids, required)
	}
	v := g.value(f, 1)
	if g.try > 2 && v.Kind() == '"' && slices.Contains(g.rules.Unique, f.name) {
		text := textOf(v)
		at := strings.IndexByte(text+"@", '@') // ruth.ellery7@example.com
		number := strconv.Itoa(g.tx.Snapshot().Len(g.collection) + g.try)
		v = quote(text[:at] + number + text[at:])
	}
	return v
}

// isFilledIn reports whether the database sets the field of a new record.
func (g *generator) isFilledIn(f *fieldModel) bool {
	if _, alias := g.rules.Aliases[f.name]; alias {
		return true
	}
	if slices.ContainsFunc(g.rules.Stamps, func(s schema.Stamp) bool { return s.Member == f.name }) {
		return true
	}
	// The database does not know patterns of ids.
	return f.name == g.tx.Snapshot().IDMember(g.collection) && (g.rules.ReadOnlyID() || f.patterns == nil)
}

// reference makes the value of a field that refers to records with the given ids.
func (g *generator) reference(f *fieldModel, ids []jsontext.Value, required bool) jsontext.Value {
	if f.allows("array") {
		var list []jsontext.Value
		for range min(1+g.IntN(3), len(ids)) {
			if id := pick(g, ids); !isOneOf(id, list) {
				list = append(list, id)
			}
		}
		return array(list)
	}
	if len(ids) == 0 && !required {
		return nil
	}
	if len(ids) == 0 || f.allows("null") && g.known(f, "").Kind() == 'n' {
		return jsontext.Value("null")
	}
	return pick(g, ids)
}

// includes reports whether to include an optional field in an object: as often as existing
// records do.
func (g *generator) includes(object, f *fieldModel) bool {
	if g.try > tries/2 {
		return false
	}
	if len(g.samples) >= 5 && g.known(object, "") != nil {
		return f.sample() != nil
	}
	return g.Float64() < 0.85
}
