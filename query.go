package pickup

import (
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A Query says which records of a collection are wanted. It is made by
// Snapshot.ParseQuery and holds for every snapshot.
type Query struct {
	terms []term
}

// A term asks that the value at a path equals one of several.
type term struct {
	path []step
	keys []string // equality keys, any of which the value may have
}

// A step goes into an object by name, or into an array by index where index is
// not negative.
type step struct {
	name  string
	index int
}

// Match reports whether q wants the record.
func (q *Query) Match(r *Record) bool {
	for _, t := range q.terms {
		if !t.match(r.Value) {
			return false
		}
	}
	return true
}

func (t term) match(v jsontext.Value) bool {
	v, ok := walk(v, t.path)
	if !ok {
		return false
	}
	for _, k := range equalityKeys(v) {
		if slices.Contains(t.keys, k) {
			return true
		}
	}
	return false
}

// walk returns the value at path within v.
func walk(v jsontext.Value, path []step) (jsontext.Value, bool) {
	for _, s := range path {
		next, ok := member(v, s.name)
		if !ok && s.index >= 0 {
			n := 0
			elements(v, func(e jsontext.Value) bool {
				next, ok = e, n == s.index
				n++
				return !ok
			})
		}
		if !ok {
			return nil, false
		}
		v = next
	}
	return v, true
}

// Find returns the records of a collection that q wants, in their order. The
// error wraps ErrNotFound.
func (s *Snapshot) Find(collection string, q *Query) (iter.Seq[*Record], error) {
	c, err := s.array(collection)
	if err != nil {
		return nil, err
	}
	for _, t := range q.terms {
		if len(t.path) != 1 {
			continue
		}
		return func(yield func(*Record) bool) {
			for _, r := range c.lookup(t.path[0].name, t.keys) {
				if q.Match(r) && !yield(r) {
					return
				}
			}
		}, nil
	}
	return func(yield func(*Record) bool) {
		for r := range s.All(collection) {
			if q.Match(r) && !yield(r) {
				return
			}
		}
	}, nil
}
