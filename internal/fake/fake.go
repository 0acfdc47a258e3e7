// Package fake makes records that fit the rules of a database and look like its records.
//
// A value (value.go) is made of the first that is known about its place (place.go): the values
// that the rules name, a record that it refers to, the format or the name of the field (words.go),
// the values that other records have there, examples, and the type with its bounds. A record that
// still breaks a rule is made again, at last with its required fields only.
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

// A Count is how many records a collection gets.
type Count struct {
	Collection string
	N          int
}

const (
	tries   = 20  // of a record, and of a value
	sampled = 500 // records of a collection that are looked at
)

// Make adds records to collections, those that others refer to first, and returns their ids.
// The same database, seed and time lead to the same records. The time is the middle of theirs,
// unless the collection has times. The error is a *database.FaultError if a record cannot be made.
func Make(tx *database.Tx, counts []Count, seed uint64, now time.Time) (map[string][]string, error) {
	tx.Repeat(seed, now)
	relations := tx.Snapshot().Relations(sampled)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), tx: tx, now: now.UTC().Truncate(time.Minute)}
	made := make(map[string][]string)
	for _, c := range Order(counts, relations) {
		if err := g.begin(c.Collection, relations); err != nil {
			return nil, err
		}
		for i := range c.N {
			r, err := g.record()
			if _, ok := errors.AsType[*database.FaultError](err); ok {
				return nil, refuse("record %d of %s: %v", i+1, c.Collection, err)
			} else if err != nil {
				return nil, err
			}
			made[c.Collection] = append(made[c.Collection], r.ID)
			g.refer(r, relations)
		}
	}
	return made, nil
}

func refuse(format string, args ...any) error {
	return &database.FaultError{Kind: storage.ErrInvalid, Faults: []schema.Fault{{Detail: fmt.Sprintf(format, args...)}}}
}

// Order returns counts with each collection after those that its records refer to.
func Order(counts []Count, relations []database.Relation) (ordered []Count) {
	for left := slices.Clone(counts); len(left) > 0; {
		i := slices.IndexFunc(left, func(c Count) bool {
			return !slices.ContainsFunc(relations, func(r database.Relation) bool {
				return r.From == c.Collection && r.To != r.From && slices.ContainsFunc(left, func(c Count) bool { return c.Collection == r.To })
			})
		})
		i = max(i, 0) // they refer to each other
		ordered = append(ordered, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return ordered
}

// A generator makes records, of one collection after the other.
type generator struct {
	*rand.Rand
	tx  *database.Tx
	now time.Time

	collection string
	rules      *schema.Rules
	doc        jsontext.Value // into which the references of schemas lead
	samples    []jsontext.Value
	refs       map[string][]jsontext.Value // ids, by the field that holds one
	root       *place
	varies     bool              // some schema has branches
	try        int               // to make the record
	who        map[string]string // the person and the place in it, nil until they are needed
}

// begin starts a collection.
func (g *generator) begin(collection string, relations []database.Relation) error {
	snap := g.tx.Snapshot()
	g.collection, g.rules, g.samples, g.refs = collection, snap.Schema().Member(collection), nil, make(map[string][]jsontext.Value)
	g.varies = false
	for r := range snap.All(collection) {
		g.samples = append(g.samples, r.Value)
		if len(g.samples) == sampled {
			break
		}
	}
	g.restart()
	if len(g.root.fields) == 0 {
		return refuse("%s has no records to go by, and no rules for them: add one by hand first", collection)
	}
	for _, r := range relations {
		if r.From != collection || len(g.refs[r.Member]) > 0 {
			continue
		}
		g.refs[r.Member] = []jsontext.Value{}
		for p := range snap.All(r.To) {
			if id, ok := rawjson.Member(p.Value, snap.IDMember(r.To)); ok {
				g.refs[r.Member] = append(g.refs[r.Member], id)
			}
		}
		if f := g.open(g.root.field(r.Member)); f.required && len(g.refs[r.Member]) == 0 && !r.List && !f.allows("null") {
			return refuse("%s: %s refers to %s, which has no records: make some too", collection, r.Member, r.To)
		}
	}
	return nil
}

// refer lets the records that are made from now on refer to one of the same collection.
func (g *generator) refer(r *database.Record, relations []database.Relation) {
	id, _ := rawjson.Member(r.Value, g.tx.Snapshot().IDMember(g.collection))
	for _, rel := range relations {
		if rel.From == g.collection && rel.To == g.collection {
			g.refs[rel.Member] = append(g.refs[rel.Member], id)
		}
	}
}

// restart reads the schemas of the records, with one branch of each choice.
func (g *generator) restart() {
	snap := g.tx.Snapshot()
	g.root = newPlace(spell.Singular(g.collection), "", func() jsontext.Value { return pick(g, g.samples) })
	g.doc = rawjson.Compact(snap.Schema().Text())
	for _, at := range g.rules.RecordLocations {
		g.read(g.root, rawjson.At(g.doc, at))
	}
	if len(g.samples) == 0 {
		return
	}
	rules, known := g.doc, len(g.root.fields) // the records may have others
	g.doc = rawjson.Compact(describe.InferSchema(snap))
	inferred := &place{sample: g.root.sample}
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
			g.restart()
		}
		r, err = g.tx.Put(database.Create, g.collection, "", g.object(g.root, 0))
		if _, again := errors.AsType[*database.FaultError](err); !again {
			break
		}
	}
	return r, err
}

// member makes the value of a field of the record itself, nil to leave it out.
func (g *generator) member(f *place) jsontext.Value {
	_, alias := g.rules.Aliases[f.name]
	isStamp := slices.ContainsFunc(g.rules.Stamps, func(s schema.Stamp) bool { return s.Member == f.name })
	isID := f.name == g.tx.Snapshot().IDMember(g.collection) && (g.rules.ReadOnlyID() || f.patterns == nil) // else its form is not known to the service
	ids, refers := g.refs[f.name]
	required := f.required || slices.Contains(g.rules.RequiredOnCreate, f.name)
	switch {
	case alias || isID || isStamp || g.rules.Owns(f.name) || !required && !g.includes(g.root, f):
		return nil
	case !refers:
		v := g.value(f, 1)
		if text, _ := rawjson.Text(v); g.try > 2 && v.Kind() == '"' && slices.Contains(g.rules.Unique, f.name) {
			at := strings.IndexByte(text+"@", '@') // ruth.ellery7@example.com
			v = quote(text[:at] + strconv.Itoa(g.tx.Snapshot().Len(g.collection)+g.try) + text[at:])
		}
		return v
	case f.allows("array"):
		var list []jsontext.Value
		for range min(1+g.IntN(3), len(ids)) {
			if id := pick(g, ids); !isOneOf(id, list) {
				list = append(list, id)
			}
		}
		return array(list)
	case len(ids) == 0 && !required:
		return nil
	case len(ids) == 0, f.allows("null") && g.known(f, "").Kind() == 'n':
		return jsontext.Value("null")
	}
	return pick(g, ids)
}

// includes reports whether an object has an optional field this time: as often as the records.
func (g *generator) includes(object, f *place) bool {
	switch {
	case g.try > tries/2:
		return false
	case len(g.samples) >= 5 && g.known(object, "") != nil:
		return f.sample() != nil
	}
	return g.Float64() < 0.85
}
