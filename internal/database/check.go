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

	Collection string  // the collection of the element, or ""
	Record     *Record // the element, or nil
}

// An Exception reports whether to leave out a violation: at a pointer into an element of a
// collection.
type Exception func(collection string, r *Record, pointer string) bool

// Check returns all violations in the database. Dangling references and repeated values of
// unique fields are violations, too.
func (s *Snapshot) Check() []Violation {
	return s.check(nil)
}

// check is Check with exceptions, if except is not nil.
func (s *Snapshot) check(except Exception) []Violation {
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
	except Exception // may be nil
	found  []Violation
}

// checkMember checks a top-level field. If the validator has seen the field already, validated
// is set, and only extension keywords are left to check.
func (k *check) checkMember(c *collection, validated bool) {
	rules := k.snap.schema.Member(c.name)
	at := rawjson.Pointer(c.name)
	isList := c.isArray() && rules.Array
	if !validated && (!c.isArray() || !rules.Apart()) {
		v := jsontext.Value("[]") // the type is wrong, so the elements do not matter
		if !c.isArray() || isList {
			v = c.appendJSON(nil)
		}
		k.addFaults(under(at, rules.CheckMember(v)))
		validated = true
	}
	if c.kind == storage.Object && !rules.Array {
		k.addFaults(under(at, append(rules.CheckRecord(c.value, true), k.snap.dangling(c.name, c.value)...)))
	}
	if !isList {
		return
	}

	holders := make(map[string]string) // records by unique values
	i := 0
	for _, r := range c.records.All() {
		faults := append(rules.CheckRecord(r.Value, validated), k.snap.dangling(c.name, r.Value)...)
		holder := c.name + "/" + r.ID
		if storage.IsPositionKey(r.ID) {
			holder = "element " + strconv.Itoa(i)
		}
		for _, f := range append(faults, repeated(rules, r.Value, holder, holders)...) {
			k.addFault(c, i, r, f)
		}
		i++
	}
}

// repeated returns a fault for each unique field of value that another record has. It adds the
// other unique fields to holders.
func repeated(rules *schema.Rules, value jsontext.Value, holder string, holders map[string]string) []schema.Fault {
	var faults []schema.Fault
	for _, name := range rules.Unique {
		v, ok := rawjson.Member(value, name)
		if !ok || v.Kind() == 'n' {
			continue
		}
		key := name + "\x00" + rules.UniqueKey(name, v)
		other, found := holders[key]
		if !found {
			holders[key] = holder
			continue
		}
		detail := fmt.Sprintf("%s must be unique: %s has the same value", rawjson.Show(v), other)
		faults = append(faults, schema.Fault{Pointer: rawjson.Pointer(name), Detail: detail})
	}
	return faults
}

// addFault adds a fault, whose pointer starts in element i of a collection.
func (k *check) addFault(c *collection, i int, r *Record, f schema.Fault) {
	if k.except == nil || !k.except(c.name, r, f.Pointer) {
		f.Pointer = rawjson.Pointer(c.name, strconv.Itoa(i)) + f.Pointer
		k.found = append(k.found, Violation{Fault: f, Collection: c.name, Record: r})
	}
}

// addFaults adds faults, each with the element to which the pointer leads.
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

// dangling returns a fault for each reference to a missing record.
func (s *Snapshot) dangling(collection string, value jsontext.Value) []schema.Fault {
	var faults []schema.Fault
	for at, d := range s.unresolved(collection, value) {
		faults = append(faults, schema.Fault{Pointer: at, Detail: d.detail()})
	}
	return faults
}

// A Checker checks the latest snapshot when asked, and remembers the violations. Its methods may
// be called by several goroutines at once.
type Checker struct {
	db     *DB
	except Exception // may be nil

	checking sync.Mutex // held during a check
	latest   atomic.Pointer[checkResult]
}

// A checkResult has the violations in the state at rev.
type checkResult struct {
	rev    storage.Rev
	schema *schema.Schema
	found  []Violation
}

// NewChecker returns a Checker with exceptions, if except is not nil.
func NewChecker(db *DB, except Exception) *Checker {
	c := &Checker{db: db, except: except}
	c.latest.Store(new(checkResult))
	return c
}

// List returns the violations from start up to, but not including, end, and the number of all
// violations. If the database has changed since the latest check, List checks again.
func (c *Checker) List(start, end int) (found []Violation, count int) {
	asked := c.db.Snapshot()
	c.checking.Lock()
	defer c.checking.Unlock()
	r := c.latest.Load()
	if r.rev < asked.rev || r.schema != asked.schema { // otherwise another call has checked
		s := c.db.Snapshot()
		r = &checkResult{s.rev, s.schema, s.check(c.except)}
		c.latest.Store(r)
	}
	end = max(0, min(end, len(r.found)))
	return r.found[min(max(0, start), end):end], len(r.found)
}

// Count returns the number of violations that the latest check has found. If the database has
// changed since, pending is set.
func (c *Checker) Count() (n int, pending bool) {
	r := c.latest.Load()
	now := c.db.Snapshot()
	return len(r.found), now.schema != r.schema || now.schema != nil && now.rev > r.rev
}
