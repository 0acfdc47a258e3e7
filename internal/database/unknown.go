package database

import (
	"cmp"
	"slices"

	"pickup/internal/query"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// strictCost is the cost of finding a path in a record, for each byte.
const strictCost = 8

// Strict returns a *query.Error for the first unknown name in q: a field that neither a
// record of the collection nor the schema has, or a name in _embed or _expand that is not a
// relation. NewQuery accepts unknown fields, because without a schema the next record
// may have such a field.
func (s *Snapshot) Strict(q *query.Query) error {
	m := q.Matcher(nil)
	asked := make(map[string]bool)
	for _, n := range q.Named {
		path := rawjson.Pointer(n.Path...)
		if asked[path] {
			continue
		}
		asked[path] = true
		has := q.EmbedsAt(n.Path) || s.has(m, q.Collection, n)
		if m.Err() != nil {
			return m.Err()
		}
		if !has {
			return s.noMember(q.Collection, n)
		}
	}
	for _, e := range q.Embeds {
		if err := s.strictEmbed(q.Collection, e); err != nil {
			return err
		}
	}
	return nil
}

// CheckFilters returns a *query.Error for the first filter of q on an unknown field that was
// probably meant as a known field, as a parameter (which starts with an underscore), or as a known
// field with an operator. The list unknown has the other unknown fields, whose filters select
// nothing. A field is known if the schema or a record of the collection has the field, or if a
// record had the field within the history.
func (db *DB) CheckFilters(s *Snapshot, q *query.Query) (unknown []string, err error) {
	for _, n := range q.Named {
		if !s.Occurs(q.Collection, n.Path[0]) {
			return db.checkUnknown(s, q)
		}
	}
	return nil, nil // as for most queries
}

func (db *DB) checkUnknown(s *Snapshot, q *query.Query) (unknown []string, err error) {
	rules := s.schema.Member(q.Collection)
	for parameter, name := range q.Tested {
		if s.Occurs(q.Collection, name) || rules.Knows([]string{name}) {
			continue
		}
		known, ok := db.history.pastNames(q.Collection)
		if !ok || slices.Contains(known, name) {
			continue
		}
		known = append(known, s.knownNames(q.Collection)...)
		near := spell.NearName(name, known)
		if parameter == name && s.Len(q.Collection) > 0 {
			near = cmp.Or(query.WithUnderscore(name), near)
		}
		if field, operator, ok := query.FieldAndOperator(name); ok && slices.Contains(known, field) {
			return nil, query.UnknownOperator(parameter, operator)
		}
		if near != "" {
			return nil, query.Errorf(parameter, "no record of %s has %s; did you mean %s?",
				q.Collection, rawjson.Shorten(name), rawjson.Shorten(near))
		}
		if len(known) > 0 {
			unknown = append(unknown, name)
		}
	}
	return unknown, nil
}

// noMember returns the error for a field that no record of a collection has.
func (s *Snapshot) noMember(collection string, n query.Named) *query.Error {
	near := query.WithUnderscore(n.Name)
	if n.Parameter != n.Name || near == "" {
		near = spell.Nearest(n.Path[0], s.knownNames(collection))
	}
	meant := ""
	if near != "" && near != n.Path[0] {
		meant = "; did you mean " + near + "?"
	}
	return query.Errorf(n.Parameter, "no record of %s has %s%s", collection, rawjson.Shorten(n.Name), meant)
}

// has reports whether a record has a value at a path, or the schema allows a value there. The
// Matcher m counts the work.
func (s *Snapshot) has(m *query.Matcher, collection string, n query.Named) bool {
	if s.schema.Member(collection).Knows(n.Path) {
		return true
	}
	if !s.Occurs(collection, n.Path[0]) {
		return false
	}
	if len(n.Path) == 1 {
		return true
	}
	for r := range s.All(collection) {
		if _, ok := n.Path.Find(r.Value); ok {
			return true
		}
		if !m.Spend(n.Parameter, strictCost*len(r.Value)) {
			return false
		}
	}
	return false
}

// knownNames returns the names of the fields that records of a collection or its schema have.
func (s *Snapshot) knownNames(collection string) (known []string) {
	if c, err := s.array(collection); err == nil {
		known = c.indexes.names().Keys()
	}
	return append(known, s.schema.Member(collection).Known...)
}

// strictEmbed returns an error if a name is not a relation.
func (s *Snapshot) strictEmbed(collection string, e *query.Embed) error {
	rel, ok := s.relation(collection, e.Name, e.Expand)
	if !ok {
		name := rawjson.Shorten(e.Name)
		return query.Errorf(e.Parameter, "%s is not a collection, and %s have no %sId that refers to one",
			name, collection, name)
	}
	for _, in := range e.Inner {
		i := slices.IndexFunc(rel.in, func(c string) bool { return s.strictEmbed(c, in) == nil })
		if i < 0 {
			return s.strictEmbed(rel.in[0], in)
		}
	}
	return nil
}
