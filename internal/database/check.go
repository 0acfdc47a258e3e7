package database

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// A Violation is a value in a database that breaks a rule, as only hand edits can.
type Violation struct {
	// Fault has a pointer into db.json, with the schema's names of fields.
	schema.Fault

	Collection string  // the collection that has the element; "": it is about something else
	Record     *Record // the element, or nil
}

// Check returns everything in the database that breaks a rule. Dangling references
// are violations, and so are repeated values of unique fields.
func (s *Snapshot) Check() []Violation {
	return s.check(nil)
}

// check is Check without the faults in elements for which except, if not nil, reports true.
func (s *Snapshot) check(except func(collection string, r *Record, pointer string) bool) []Violation {
	if s.schema == nil {
		return nil
	}
	k := &check{snap: s, except: except}
	k.addFaults(s.schema.CheckNames(s.Names()))
	validated := s.schema.Whole()
	if validated {
		k.addFaults(s.schema.CheckWhole(s.AppendJSON(nil)))
	}
	for _, c := range s.list {
		k.checkMember(c, validated)
	}
	return k.found
}

// A check collects the violations of one snapshot.
type check struct {
	snap   *Snapshot
	except func(collection string, r *Record, pointer string) bool // may be nil
	found  []Violation
}

// checkMember checks one top-level field. If it is validated, the validator has seen it,
// and only extension keywords are left to check.
func (k *check) checkMember(c *collection, validated bool) {
	rules, at, array := k.snap.schema.Member(c.name), rawjson.Pointer(c.name), c.kind == storage.Array
	if !validated && (!array || !rules.Apart()) {
		v := jsontext.Value("[]") // the type is wrong, so the elements do not matter
		if !array || rules.Array {
			v = c.appendJSON(nil)
		}
		k.addFaults(under(at, rules.CheckMember(v)))
		validated = true
	}
	if c.kind == storage.Object && !rules.Array {
		k.addFaults(under(at, append(rules.CheckRecord(c.value, true), k.snap.dangling(c.name, c.value)...)))
	}
	if !array || !rules.Array {
		return
	}
	first, i := make(map[string]string), 0 // which record has a unique value; the index of the present one
	for _, r := range c.records.All() {
		faults := append(rules.CheckRecord(r.Value, validated), k.snap.dangling(c.name, r.Value)...)
		for _, name := range rules.Unique {
			v, ok := rawjson.Member(r.Value, name)
			if !ok || v.Kind() == 'n' {
				continue
			}
			key := name + "\x00" + rawjson.Identity(v)
			record, other := c.name+"/"+r.ID, first[key]
			if storage.IsPositionKey(r.ID) {
				record = "element " + strconv.Itoa(i)
			}
			if other != "" {
				detail := fmt.Sprintf("%s must be unique: %s has the same value", rawjson.Show(v), other)
				faults = append(faults, schema.Fault{Pointer: rawjson.Pointer(name), Detail: detail})
			} else {
				first[key] = record
			}
		}
		for _, f := range faults {
			k.addFault(c, i, r, f)
		}
		i++
	}
}

// addFault adds a fault in element i of a collection; its pointer begins there.
func (k *check) addFault(c *collection, i int, r *Record, f schema.Fault) {
	if k.except == nil || !k.except(c.name, r, f.Pointer) {
		f.Pointer = rawjson.Pointer(c.name, strconv.Itoa(i)) + f.Pointer
		k.found = append(k.found, Violation{Fault: f, Collection: c.name, Record: r})
	}
}

// addFaults adds faults with the elements that their pointers lead to or into.
func (k *check) addFaults(faults []schema.Fault) {
	for _, f := range faults {
		if path := rawjson.SplitPointer(f.Pointer); len(path) > 1 && k.snap.byName[path[0]].isArray() {
			c := k.snap.byName[path[0]]
			if i, err := strconv.Atoi(path[1]); err == nil && 0 <= i && i < c.records.Len() {
				r, _ := c.records.At(c.records.Nth(i))
				f.Pointer = rawjson.Pointer(path[2:]...)
				k.addFault(c, i, r, f)
				continue
			}
		}
		k.found = append(k.found, Violation{Fault: f})
	}
}

// dangling returns a fault for each reference to a record that does not exist.
func (s *Snapshot) dangling(collection string, value jsontext.Value) []schema.Fault {
	var faults []schema.Fault
	for at, d := range s.unresolved(collection, value) {
		faults = append(faults, schema.Fault{Pointer: at, Detail: d.detail()})
	}
	return faults
}

// A Checker keeps what Check returns for the latest snapshot that it has checked. Its
// methods may be called by several goroutines at once.
type Checker struct {
	db     *DB
	except func(collection string, r *Record, pointer string) bool

	checking sync.Mutex // held during a check
	latest   atomic.Pointer[checkResult]
}

// A checkResult is what a check of the state at rev has found.
type checkResult struct {
	rev    storage.Rev
	schema *schema.Schema
	found  []Violation
}

// NewChecker returns a Checker. It leaves out the violations for which except
// reports true: it is called with an element of a collection, and a pointer into
// the element. except may be nil.
func NewChecker(db *DB, except func(collection string, r *Record, pointer string) bool) *Checker {
	c := &Checker{db: db, except: except}
	c.latest.Store(new(checkResult))
	return c
}

// List returns the violations from start to end, which is exclusive, and how many there are in
// all. If the database has changed since the latest check, List waits for another one.
func (c *Checker) List(start, end int) (found []Violation, count int) {
	asked := c.db.Snapshot()
	c.checking.Lock()
	defer c.checking.Unlock()
	r := c.latest.Load()
	if r.rev < asked.rev || r.schema != asked.schema { // otherwise another call has checked meanwhile
		s := c.db.Snapshot()
		r = &checkResult{s.rev, s.schema, s.check(c.except)}
		c.latest.Store(r)
	}
	end = max(0, min(end, len(r.found)))
	return r.found[min(max(0, start), end):end], len(r.found)
}

// Count returns how many violations the latest check has found. It is pending if the
// database has changed since.
func (c *Checker) Count() (n int, pending bool) {
	r, now := c.latest.Load(), c.db.Snapshot()
	return len(r.found), now.schema != r.schema || now.schema != nil && now.rev > r.rev
}
