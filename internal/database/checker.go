package database

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
)

// A Checker keeps what Check returns for the present snapshot of a DB. After a
// change it checks only the records that the change concerns: those that it
// touches, those that refer to them, and those that have the same values of unique
// members. Its methods may be called by several goroutines at once.
type Checker struct {
	db     *DB
	except func(collection string, r *Record, pointer string) bool
	count  atomic.Int64 // of the violations that are known

	mu  sync.Mutex
	all *violations // guarded by mu; nil before the first check
}

// NewChecker returns a Checker. It leaves out the violations for which except
// reports true: it is called with an element of a collection, and a pointer into
// the element. except may be nil.
func NewChecker(db *DB, except func(collection string, r *Record, pointer string) bool) *Checker {
	return &Checker{db: db, except: except}
}

// List returns the violations from start to end, which is exclusive, and how many
// there are in all.
func (c *Checker) List(start, end int) (found []Violation, count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.advance() {
		c.all = checkAll(c.db.Snapshot(), c.except, c.all)
		c.count.Store(int64(c.all.count))
	}
	return c.all.list(max(0, start), min(end, c.all.count)), c.all.count
}

// Count returns how many violations there are. It does not check the whole
// database: if that is necessary, the count is pending, and it is that of an earlier
// state until List has been called.
func (c *Checker) Count() (n int, pending bool) {
	pending = true
	if c.mu.TryLock() {
		pending = !c.advance()
		c.mu.Unlock()
	}
	return int(c.count.Load()), pending
}

// advance brings what is known up to date. It reports false if the whole database
// has to be checked. The caller has c.mu.
func (c *Checker) advance() bool {
	if c.all == nil {
		return false
	}
	revisions, ok, _ := c.db.Since(c.all.snap.rev)
	if !ok || !c.all.apply(revisions) {
		return false
	}
	c.count.Store(int64(c.all.count))
	return true
}

// apply brings the violations up to date with revisions. It reports false, and
// changes nothing, if the whole database has to be checked.
func (all *violations) apply(revisions []*Revision) bool {
	if len(revisions) == 0 {
		return true
	}
	before, now := all.snap, revisions[len(revisions)-1].After
	switch {
	case now.schema != before.schema:
		return false
	case now.schema == nil:
		all.snap = now
		return true
	}
	touched := make(map[element]bool)
	for _, r := range revisions {
		if all.validate || r.reset || r.Counts != nil {
			return false
		}
		for _, ch := range r.Changes {
			old, is := before.byName[ch.Collection], now.byName[ch.Collection]
			if old == nil || is == nil || old.kind != is.kind || is.isArray() && (ch.ID == "" || all.isValidated(is)) {
				return false
			}
			touched[element{ch.Collection, ch.ID}] = true
		}
	}
	all.snap = now
	var again []*collection // to be checked as a whole: an undo or a reset has moved their records
	for _, c := range now.list {
		if old := before.byName[c.name]; c.isArray() && old.isArray() && c.places != old.places {
			again = append(again, c)
		}
	}
	dirty := make(map[*collection]map[int]bool) // places
	mark := func(c *collection, place uint64) {
		if dirty[c] == nil {
			dirty[c] = make(map[int]bool)
		}
		dirty[c][int(place)] = true
	}
	for at := range touched {
		c := now.byName[at.collection]
		if !c.isArray() {
			mark(c, 0)
			continue
		}
		old, was := before.byName[at.collection].records.Get(at.id)
		is, there := c.records.Get(at.id)
		if was != there && !storage.IsPositionKey(at.id) {
			all.markReferring(at, there, mark)
		}
		for _, r := range []*Record{old, is} {
			if r == nil {
				continue
			}
			mark(c, r.seq)
			eachUnique(now.schema.Member(c.name), r.Value, func(name string, v jsontext.Value) {
				for _, r := range c.holders(name, v) {
					mark(c, r.seq)
				}
			})
		}
	}
	for c, places := range dirty {
		switch {
		case slices.Contains(again, c):
			continue
		case !c.isArray():
			again = append(again, c)
			continue
		}
		for place := range places {
			all.checkElement(c, place)
		}
	}
	for _, c := range again {
		all.count -= all.members[c.name].count()
		all.checkMember(c, nil)
	}
	return true
}

// isValidated reports whether there are rules for a list as a whole.
func (all *violations) isValidated(c *collection) bool {
	return all.members[c.name].validated && all.snap.schema.Member(c.name).Array
}

// markReferring marks what may refer to an element that has come or gone. What
// refers to one that has come has a fault already, so no index is needed.
func (all *violations) markReferring(to element, come bool, mark func(c *collection, place uint64)) {
	for _, child := range all.snap.list {
		for _, ref := range all.snap.schema.Member(child.name).References {
			switch {
			case ref.Collection != to.collection:
			case child.isArray() && come:
				all.members[child.name].elements.Scan(func(place int, faults []elementFault) bool {
					if slices.ContainsFunc(faults, func(f elementFault) bool { return f.linked }) {
						mark(child, uint64(place))
					}
					return true
				})
			case child.isArray():
				for _, r := range all.snap.referring(child.name, ref.Member, to.id, true) {
					mark(child, r.seq)
				}
			default:
				mark(child, 0)
			}
		}
	}
}

// checkElement checks the element at a place again, where there may be none.
func (all *violations) checkElement(c *collection, place int) {
	s, rules, m := all.snap, all.snap.schema.Member(c.name), all.members[c.name]
	r, ok := c.records.At(place)
	if !ok || !rules.Array {
		all.set(c, m, place, r, nil)
		return
	}
	faults := append(elementFaults(rules.CheckRecord(r.Value, m.validated), false), elementFaults(s.dangling(c.name, r.Value), true)...)
	eachUnique(rules, r.Value, func(name string, v jsontext.Value) {
		if first := c.holders(name, v)[0]; first.seq != r.seq {
			faults = append(faults, repeated(name, v, first))
		}
	})
	all.set(c, m, place, r, faults)
}
