package source

import (
	"bytes"
	"fmt"
	"slices"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A Part is a transaction of the size of a request.
type Part struct {
	operations []*operation
	made       [][]byte // operations that make the collections of earlier parts
	size       int64    // size of the operations in bytes
}

// An operation writes an item or, if list is set, all records of a new collection.
type operation struct {
	head  []byte // the text before the value
	value []byte
	sets  bool // the operation sets a top-level field
	list  bool
	part  *Part // the part of a list
	items []*Item
}

func newOperation(op string, i *Item, id, field string) *operation {
	head := []byte("{")
	head = rawjson.AppendText(head, "op", op)
	head = rawjson.AppendText(head, "collection", i.Field)
	if id != "" {
		head = rawjson.AppendText(head, "id", id)
	}
	return &operation{
		head: rawjson.AppendMember(head, field, nil),
		sets: op == "set",
	}
}

func (o *operation) text() []byte {
	if o.list {
		return slices.Concat(o.head, []byte("["), o.value, []byte("]}"))
	}
	return slices.Concat(o.head, o.value, []byte("}"))
}

// add adds an item. An operation that is not a list has one item.
func (o *operation) add(i *Item) {
	if len(o.items) > 0 {
		o.value = append(o.value, ',')
	}
	o.value = append(o.value, i.Value...)
	o.items = append(o.items, i)
}

// Transaction returns the operations. A trial starts with the collections of the earlier parts,
// so that the database without these parts accepts the operations.
func (p *Part) Transaction(trial bool) []byte {
	var texts [][]byte
	if trial {
		texts = slices.Clone(p.made)
	}
	for _, o := range p.operations {
		texts = append(texts, o.text())
	}
	return slices.Concat([]byte("["), bytes.Join(texts, []byte(",")), []byte("]"))
}

// Sets reports whether the part sets a top-level field. Such a part overwrites later writes of
// others to the field.
func (p *Part) Sets() bool {
	return slices.ContainsFunc(p.operations, func(o *operation) bool { return o.sets })
}

// Find returns the item at a pointer into the transaction, and the rest of the pointer.
func (p *Part) Find(trial bool, pointer string) (*Item, string) {
	tokens := rawjson.SplitPointer(pointer)
	n := index(tokens, 0)
	if trial {
		n -= len(p.made)
	}
	o := p.operations[max(0, min(n, len(p.operations)-1))]
	before := 2 // the index of the operation, and "record" or "value"
	at := 0
	if o.list {
		at = index(tokens, before)
		before++
	}
	inside := tokens[min(before, len(tokens)):]
	return o.items[min(at, len(o.items)-1)], rawjson.Pointer(inside...)
}

// index returns the token at n as an index, or 0.
func index(tokens []string, n int) int {
	if n >= len(tokens) {
		return 0
	}
	i, _ := rawjson.Index(tokens[n])
	return i
}

// Done marks the items of the part as stored.
func (p *Part) Done() {
	for _, o := range p.operations {
		for _, i := range o.items {
			i.Done = true
		}
	}
}

// Plan divides items into parts of at most most bytes and operations, and sets their outcomes.
// Plan calls wrong for faulty items. Records of a collection without records keep their ids:
// Plan sets such a collection as a whole.
func Plan(
	s *database.Snapshot, items []*Item, replace bool, most int64, operations int, wrong func(i *Item, detail string),
) []*Part {
	p := planner{
		snapshot:      s,
		replace:       replace,
		maxSize:       most,
		maxOperations: operations,
		wrong:         wrong,
		seen:          make(map[[2]string]bool),
		lists:         make(map[string]*operation),
	}
	for _, i := range items {
		i.Outcome = ""
		old := p.compare(i)
		if i.Outcome == "added" || i.Outcome == "replaced" {
			p.add(i, old)
		}
	}
	return p.parts
}

// A planner is the state of Plan.
type planner struct {
	snapshot      *database.Snapshot
	replace       bool
	maxSize       int64
	maxOperations int
	wrong         func(i *Item, detail string)

	seen  map[[2]string]bool    // collections and ids of earlier items
	lists map[string]*operation // the latest operation that makes a collection
	made  [][]byte              // these operations, without records
	parts []*Part
}

// compare sets the outcome of an item and returns the value in the database. The outcome of a
// wrong item stays empty.
func (p *planner) compare(i *Item) (old []byte) {
	kind, exists := p.snapshot.Kind(i.Field)
	if exists && (kind == storage.Array) != i.isList() {
		side := "in the database, and not here"
		if i.isList() {
			side = "here, and not in the database"
		}
		p.wrong(i, fmt.Sprintf("%s is a list of records %s", i.Field, side))
		return nil
	}
	if i.Whole {
		old, _ = p.snapshot.Value(i.Field)
	} else {
		member := p.snapshot.IDMember(i.Field)
		id, hasID := storage.ID(i.Value, member)
		element := [2]string{i.Field, id}
		if hasID && p.seen[element] {
			p.wrong(i, fmt.Sprintf("another record has the %s %s, too", member, rawjson.Shorten(id)))
			return nil
		}
		p.seen[element] = hasID
		if r, err := p.snapshot.Get(i.Field, id); hasID && err == nil {
			old = r.Value
		}
	}
	isMade := i.Whole && i.isList() && exists // an empty collection has nothing to add
	switch {
	case isMade, old != nil && rawjson.Equal(old, i.Value):
		i.Outcome = "equal"
	case old == nil:
		i.Outcome = "added"
	case p.replace:
		i.Outcome = "replaced"
	default:
		i.Outcome = "kept as before (see --replace)"
	}
	return old
}

// add adds an item, whose value replaces old if the database has one, to a part.
func (p *planner) add(i *Item, old []byte) {
	grown := int64(len(i.Value)) + 1
	list := p.lists[i.Field]
	var last *Part
	if len(p.parts) > 0 {
		last = p.parts[len(p.parts)-1]
	}
	if list != nil && list.part == last && last.size+grown <= p.maxSize {
		list.add(i)
		last.size += grown
		return
	}

	var o *operation
	switch {
	case i.Whole:
		o = newOperation("set", i, "", "value")
	case old != nil:
		id, _ := storage.ID(i.Value, p.snapshot.IDMember(i.Field))
		o = newOperation("replace", i, id, "record")
	case list != nil || p.snapshot.Len(i.Field) > 0:
		o = newOperation("create", i, "", "record")
	default:
		o = newOperation("set", i, "", "value")
		o.list = true
	}
	grown += int64(len(o.head)) + 4
	if last == nil || last.size+grown > p.maxSize || len(last.made)+len(last.operations) == p.maxOperations {
		made := bytes.Join(p.made, []byte(","))
		last = &Part{
			made: slices.Clip(p.made),
			size: int64(len(made) + len("[]")),
		}
		p.parts = append(p.parts, last)
	}
	if o.list {
		o.part = last
		p.lists[i.Field] = o
		p.made = append(p.made, o.text())
	}
	o.add(i)
	last.operations = append(last.operations, o)
	last.size += grown
}
