package source

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A Part is a transaction that fits one request.
type Part struct {
	operations []*operation
	made       [][]byte // make the collections of earlier parts
	size       int64    // of the operations, in bytes
}

// An operation is one for an item or, if list is set, for all records of a new collection.
type operation struct {
	head  []byte // what is before the value
	value []byte
	sets  bool // a top-level field
	list  bool
	items []*Item
}

func newOperation(op string, i *Item, id, field string) *operation {
	head := []byte("{")
	head = rawjson.AppendMember(head, "op", rawjson.AppendQuote(nil, op))
	head = rawjson.AppendMember(head, "collection", rawjson.AppendQuote(nil, i.Field))
	if id != "" {
		head = rawjson.AppendMember(head, "id", rawjson.AppendQuote(nil, id))
	}
	return &operation{head: rawjson.AppendMember(head, field, nil), sets: op == "set"}
}

func (o *operation) text() []byte {
	if o.list {
		return slices.Concat(o.head, []byte("["), o.value, []byte("]}"))
	}
	return slices.Concat(o.head, o.value, []byte("}"))
}

// add adds an item, whose value takes the place of a value unless o is a list.
func (o *operation) add(i *Item) {
	if len(o.items) > 0 {
		o.value = append(o.value, ',')
	}
	o.value = append(o.value, i.Value...)
	o.items = append(o.items, i)
}

// Transaction returns the operations. As a trial they do to the database without the earlier
// parts what they do after these.
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

// Sets reports whether the part sets a top-level field, whatever was written there since the
// plan was made.
func (p *Part) Sets() bool {
	return slices.ContainsFunc(p.operations, func(o *operation) bool { return o.sets })
}

// Find returns the item that a pointer into the transaction leads to, and the pointer into it.
func (p *Part) Find(trial bool, pointer string) (*Item, string) {
	tokens := rawjson.SplitPointer(pointer)
	next := func() int {
		if len(tokens) == 0 {
			return 0
		}
		n, _ := strconv.Atoi(tokens[0])
		tokens = tokens[1:]
		return n
	}
	n := next()
	if trial {
		n -= len(p.made)
	}
	o := p.operations[max(0, min(n, len(p.operations)-1))]
	next() // "record" or "value"
	at := 0
	if o.list {
		at = next()
	}
	return o.items[max(0, min(at, len(o.items)-1))], rawjson.Pointer(tokens...)
}

// Done notes that the items of the part are in the database.
func (p *Part) Done() {
	for _, o := range p.operations {
		for _, i := range o.items {
			i.Done = true
		}
	}
}

// Plan divides items into parts of at most most bytes and operations, and sets their
// outcomes. wrong is called for items that cannot be imported. A collection without records
// is set as a whole, in which records keep their ids.
func Plan(s *database.Snapshot, items []*Item, replace bool, most int64, operations int, wrong func(i *Item, detail string)) (parts []*Part) {
	type record struct{ field, id string }
	seen := make(map[record]bool)
	type list struct {
		*operation
		part int
	}
	lists := make(map[string]list) // the operations that make collections
	var made [][]byte              // these, without records
	for _, i := range items {
		name := i.Field
		kind, exists := s.Kind(name)
		old, _ := s.Value(name)
		if exists && (kind == storage.Array) != i.isList() {
			sides := map[bool]string{true: "here, and not in the database", false: "in the database, and not here"}
			wrong(i, fmt.Sprintf("%s is a list of records %s", name, sides[i.isList()]))
			continue
		}
		member := s.IDMember(name)
		id, hasID := storage.ID(i.Value, member)
		if hasID && !i.Whole {
			if seen[record{name, id}] {
				wrong(i, fmt.Sprintf("another record has the %s %s, too", member, rawjson.Shorten(id)))
				continue
			}
			seen[record{name, id}] = true
			if r, err := s.Get(name, id); err == nil {
				old = r.Value
			}
		}
		if i.Whole && i.isList() && exists || old != nil && rawjson.Equal(old, i.Value) {
			i.Outcome = "equal"
			continue
		}
		if old != nil && !replace {
			i.Outcome = "kept as before (see --replace)"
			continue
		}
		i.Outcome = "added"
		if old != nil {
			i.Outcome = "replaced"
		}
		var o *operation
		n, grown := len(parts)-1, int64(len(i.Value))+1
		l, isMade := lists[name]
		switch {
		case i.Whole:
			o = newOperation("set", i, "", "value")
		case old != nil:
			o = newOperation("replace", i, id, "record")
		case isMade && l.part == n && parts[n].size+grown <= most:
			o = l.operation
		case isMade || s.Len(name) > 0:
			o = newOperation("create", i, "", "record")
		default:
			o = newOperation("set", i, "", "value")
			o.list = true
		}
		if o != l.operation {
			grown += int64(len(o.head)) + 4
			if n < 0 || parts[n].size+grown > most || len(parts[n].made)+len(parts[n].operations) == operations {
				n++
				parts = append(parts, &Part{made: slices.Clone(made), size: int64(len(bytes.Join(made, []byte(",")))) + 2})
			}
			parts[n].operations = append(parts[n].operations, o)
		}
		if o.list && o != l.operation {
			lists[name] = list{o, n}
			made = append(made, o.text())
		}
		o.add(i)
		parts[n].size += grown
	}
	return parts
}
