package database

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/btree"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// A Violation is a value in a database that breaks a rule, as only hand edits can.
type Violation struct {
	// Fault has a pointer into db.json, with the schema's names of members.
	schema.Fault

	Collection string  // the collection that has the element; "": it is about something else
	Record     *Record // the element, or nil
}

// Check returns everything in the database that breaks a rule. Dangling references
// are violations, and so are repeated values of unique members.
func (s *Snapshot) Check() []Violation {
	all := checkAll(s, nil, nil)
	return all.list(0, all.count)
}

// violations are what is wrong with a snapshot.
type violations struct {
	snap     *Snapshot
	except   func(collection string, r *Record, pointer string) bool // leaves out a fault in an element; may be nil
	validate bool                                                    // there are rules for the whole database
	general  []Violation                                             // of these, and of the names
	members  map[string]*memberViolations
	count    int
}

// memberViolations are what is wrong with a top-level member.
type memberViolations struct {
	validated bool // the validator has checked the member as a whole
	general   []Violation
	elements  btree.Map[int, []elementFault] // by place; none is empty
}

func (m *memberViolations) count() int {
	n := len(m.general)
	m.elements.Scan(func(_ int, faults []elementFault) bool {
		n += len(faults)
		return true
	})
	return n
}

// An elementFault is a fault in an element. Its pointer begins there.
type elementFault struct {
	schema.Fault
	linked bool // it depends on other elements
	first  int  // if the value is not unique: 1 + the place of the first element that has it
}

// checkAll checks all of s, but for elements whose faults are known from another
// snapshot. known may be nil.
func checkAll(s *Snapshot, except func(string, *Record, string) bool, known *violations) *violations {
	all := &violations{snap: s, except: except, members: make(map[string]*memberViolations)}
	if s.schema == nil {
		return all
	}
	if all.validate = s.schema.Whole(); all.validate {
		all.general = all.locate(s.schema.CheckWhole(s.AppendJSON(nil)))
	}
	all.general = append(all.locate(s.schema.CheckNames(s.Names())), all.general...)
	all.count = len(all.general)
	if known != nil && known.snap.schema != s.schema {
		known = nil
	}
	for _, c := range s.list {
		all.checkMember(c, known)
	}
	return all
}

// checkMember checks one top-level member. If the validator has seen it, only
// extension keywords are left to check.
func (all *violations) checkMember(c *collection, known *violations) {
	s, r, m := all.snap, all.snap.schema.Member(c.name), &memberViolations{validated: all.validate}
	all.members[c.name] = m
	at, array := rawjson.Pointer(c.name), c.kind == storage.Array
	if !m.validated && (!array || !r.Apart()) {
		v := jsontext.Value("[]") // the type is wrong, so the elements do not matter
		if !array || r.Array {
			v = c.appendJSON(nil)
		}
		m.general, m.validated = all.locate(under(at, r.CheckMember(v))), true
	}
	if c.kind == storage.Object && !r.Array {
		m.general = append(m.general, all.locate(under(at, append(r.CheckRecord(c.value, true), s.dangling(c.name, c.value)...)))...)
	}
	all.count += len(m.general)
	if !array || !r.Array {
		return
	}
	first := make(map[string]*Record)
	for place, record := range c.records.All() {
		own, ok := known.own(c.name, record)
		if !ok {
			own = elementFaults(r.CheckRecord(record.Value, m.validated), false)
		}
		linked := elementFaults(s.dangling(c.name, record.Value), true)
		eachUnique(r, record.Value, func(name string, v jsontext.Value) {
			key := name + "\x00" + rawjson.Identity(v)
			if first[key] == nil {
				first[key] = record
			} else {
				linked = append(linked, repeated(name, v, first[key]))
			}
		})
		all.set(c, m, place, record, append(own, linked...))
	}
}

// own returns the faults of an element that do not depend on others, if they are
// known from an earlier state.
func (all *violations) own(collection string, r *Record) (own []elementFault, ok bool) {
	if all == nil || !all.snap.byName[collection].isArray() {
		return nil, false
	}
	old, ok := all.snap.byName[collection].records.Get(r.ID)
	if !ok || !sameMemory(old.Value, r.Value) {
		return nil, false
	}
	faults, _ := all.members[collection].elements.Get(int(old.seq))
	return slices.DeleteFunc(slices.Clone(faults), func(f elementFault) bool { return f.linked }), true
}

// set replaces what is wrong with an element.
func (all *violations) set(c *collection, m *memberViolations, place int, r *Record, faults []elementFault) {
	if all.except != nil && len(faults) > 0 {
		faults = slices.DeleteFunc(faults, func(f elementFault) bool { return all.except(c.name, r, f.Pointer) })
	}
	old, _ := m.elements.Get(place)
	all.count += len(faults) - len(old)
	if len(faults) > 0 {
		m.elements.Set(place, faults)
	} else if len(old) > 0 {
		m.elements.Delete(place)
	}
}

// locate returns faults with the elements that their pointers lead to or into.
func (all *violations) locate(faults []schema.Fault) (located []Violation) {
	for _, f := range faults {
		v := Violation{Fault: f}
		if path := rawjson.SplitPointer(f.Pointer); len(path) > 1 && all.snap.byName[path[0]].isArray() {
			records := all.snap.byName[path[0]].records
			if i, err := strconv.Atoi(path[1]); err == nil && 0 <= i && i < records.Len() {
				v.Collection = path[0]
				v.Record, _ = records.At(records.Nth(i))
				if all.except != nil && all.except(v.Collection, v.Record, rawjson.Pointer(path[2:]...)) {
					continue
				}
			}
		}
		located = append(located, v)
	}
	return located
}

// list returns the violations from start to end, which is exclusive.
func (all *violations) list(start, end int) (found []Violation) {
	i := 0
	add := func(v func() Violation) bool {
		if start <= i && i < end {
			found = append(found, v())
		}
		i++
		return i < end
	}
	addGeneral := func(general []Violation) {
		for _, v := range general {
			add(func() Violation { return v })
		}
	}
	addGeneral(all.general)
	for _, c := range all.snap.list {
		m := all.members[c.name]
		if m == nil || i >= end {
			break
		}
		addGeneral(m.general)
		m.elements.Scan(func(place int, faults []elementFault) bool {
			for _, f := range faults {
				if !add(func() Violation { return c.violation(place, f) }) {
					return false
				}
			}
			return true
		})
	}
	return found
}

// violation returns a fault of the element at a place as one of the database.
func (c *collection) violation(place int, f elementFault) Violation {
	v := Violation{Fault: f.Fault, Collection: c.name}
	v.Record, _ = c.records.At(place)
	v.Pointer = rawjson.Pointer(c.name, strconv.Itoa(c.records.Rank(place))) + v.Pointer
	if f.first > 0 {
		v.Detail += fmt.Sprintf(": element %d has the same value", c.records.Rank(f.first-1))
	}
	return v
}

// dangling returns a fault for each reference to a record that does not exist.
func (s *Snapshot) dangling(collection string, value jsontext.Value) []schema.Fault {
	var faults []schema.Fault
	for at, d := range s.unresolved(collection, value) {
		faults = append(faults, schema.Fault{Pointer: at, Detail: d.detail()})
	}
	return faults
}

// eachUnique calls do with the members of a record whose values must be unique.
func eachUnique(r *schema.Rules, value jsontext.Value, do func(name string, v jsontext.Value)) {
	for _, name := range r.Unique {
		if v, ok := rawjson.Member(value, name); ok && v.Kind() != 'n' {
			do(name, v)
		}
	}
}

// repeated returns the fault of a unique member whose value first has, too.
func repeated(name string, v jsontext.Value, first *Record) elementFault {
	fault := schema.Fault{Pointer: rawjson.Pointer(name), Detail: rawjson.Show(v) + " must be unique"}
	return elementFault{Fault: fault, linked: true, first: int(first.seq) + 1}
}

func elementFaults(faults []schema.Fault, linked bool) (all []elementFault) {
	for _, f := range faults {
		all = append(all, elementFault{Fault: f, linked: linked})
	}
	return all
}

// under prefixes the pointers of faults in a value with the pointer to the value.
func under(at string, faults []schema.Fault) []schema.Fault {
	for i := range faults {
		faults[i].Pointer = at + faults[i].Pointer
	}
	return faults
}
