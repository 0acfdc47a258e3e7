package database

import (
	"cmp"
	"slices"

	"pickup/internal/query"
)

// An ordered index has every record of a collection once, in the order of one
// member and, for equal values, in the order of the collection. It serves a page of
// a sorted list and the records in a range of values. Its keys are an order key
// followed by the record's place.

// fewRecords is the size up to which a collection is scanned as fast as an index.
const fewRecords = 1000

// ordered returns the ordered index over the member called name, or nil if there is
// none. The first query gets none, so that a single one does not pay for an index.
func (c *collection) ordered(name string) *index {
	on := indexOn{member: name, ordered: true}
	x := c.indexes
	if c.records.Len() <= fewRecords || !x.occurs(name, c.records) {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if tree := x.trees[on]; tree != nil {
		return tree
	}
	if len(x.trees) >= maxIndexes {
		return nil
	}
	if x.base != nil {
		if x.base.ordered(name) == nil {
			return nil
		}
	} else if !x.asked[name] {
		if x.asked == nil || len(x.asked) >= maxIndexes {
			x.asked = make(map[string]bool)
		}
		x.asked[name] = true
		return nil
	}
	return x.getLocked(on, c.records)
}

// page returns the records of a whole collection in q's order, from index from
// to before index to, if an ordered index gives them.
func (s *Snapshot) page(c *collection, q *query.Query, from, to int) ([]*Record, bool, error) {
	member, descending, ok := q.SortMember()
	if !ok {
		return nil, false, nil
	}
	tree := c.ordered(member)
	if tree == nil {
		return nil, false, nil
	}
	var page, group []*Record // group: with the same order key, in their own order or in reverse
	var err error
	at, key := 0, ""
	flush := func() bool { // reports whether there is more to read
		if descending {
			slices.Reverse(group)
		}
		if at+len(group) > from {
			if len(group) > 1 && (q.SortKeys() > 1 || len(key) == query.OrderKeyLen) {
				group, err = s.sorted(q, group, to-at)
			}
			page = append(page, group[min(len(group), max(0, from-at)):min(len(group), to-at)]...)
		}
		at += len(group)
		group = group[:0]
		return at < to && err == nil
	}
	scan := tree.Scan
	if descending {
		scan = tree.Reverse
	}
	more := true
	scan(func(place string, r *Record) bool {
		if next := place[:len(place)-8]; next != key {
			if more = flush(); !more {
				return false
			}
			key = next
		}
		group = append(group, r)
		return true
	})
	if more {
		flush()
	}
	return page, true, err
}

// between returns the records that an ordered index has in a span, and those
// whose member is an array, in the collection's order. It reports false if there
// are more than most.
func between(tree *index, s *query.Span, most int) ([]*Record, bool) {
	var found []*Record
	for _, ends := range s.Ranges() {
		tree.Ascend(string(ends[0]), func(key string, r *Record) bool {
			if upto := key[:min(len(key), len(ends[1]))]; upto > string(ends[1]) {
				return false
			}
			found = append(found, r)
			return len(found) <= most
		})
	}
	slices.SortFunc(found, func(a, b *Record) int { return cmp.Compare(a.seq, b.seq) })
	return found, len(found) <= most
}
