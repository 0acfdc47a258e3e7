package pickup

import (
	"fmt"
	"slices"
)

// Strict returns a *QueryError for the first name in q that means nothing here:
// a property that no record of the collection has and the schema does not
// know, or a relation that is none. ParseQuery lets such names pass, because
// in a list without a schema the next record may have them.
func (s *Snapshot) Strict(q *Query) error {
	m := new(matcher)
	asked := make(map[string]bool)
	for _, n := range q.named {
		path := n.path.String()
		if asked[path] {
			continue
		}
		asked[path] = true
		has := q.puts(n.path) || s.has(m, q.collection, n)
		if m.err != nil {
			return m.err
		}
		if !has {
			return &QueryError{Parameter: n.parameter, Detail: fmt.Sprintf("no record of %s has %s%s",
				q.collection, shorten(n.name), s.didYouMeanMember(q.collection, n.path[0].name))}
		}
	}
	for _, e := range q.embeds {
		if err := s.strictEmbed(q.collection, e); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether some record has something at a path, null included, or
// may have it by the schema. Work is counted by m.
func (s *Snapshot) has(m *matcher, collection string, n named) bool {
	if rules := s.schema.of(collection); rules != nil && rules.shape.has(n.path) {
		return true
	}
	if !s.occurs(collection, n.path[0].name) {
		return false
	}
	if len(n.path) == 1 {
		return true
	}
	for r := range s.All(collection) {
		if _, ok := n.path.walk(r.Value); ok {
			return true
		}
		if !m.spend(n.parameter, strictCost*len(r.Value)) {
			return false
		}
	}
	return false
}

// has reports whether a value may have something at a path.
func (s *shape) has(p path) bool {
	for _, step := range p {
		switch {
		case s == nil:
			return false
		case s.members[step.name] != nil:
			s = s.members[step.name]
		case step.index >= 0:
			s = s.items
		default:
			return false
		}
	}
	return s != nil
}

// didYouMeanMember suggests the member that was probably meant.
func (s *Snapshot) didYouMeanMember(collection, name string) string {
	var known []string
	if c, err := s.array(collection); err == nil {
		known = c.indexes.memberNames()
	}
	if rules := s.schema.of(collection); rules != nil && rules.shape != nil {
		known = append(known, rules.shape.names...)
	}
	if near := nearest(name, known); near != "" && near != name {
		return "; did you mean " + near + "?"
	}
	return ""
}

// strictEmbed returns an error where a name is no relation.
func (s *Snapshot) strictEmbed(collection string, e *embed) error {
	rel, ok := s.relation(collection, e.name, e.expand)
	if !ok {
		return &QueryError{Parameter: e.parameter, Detail: fmt.Sprintf("%s is no collection, and %s have no %sId that refers to one",
			shorten(e.name), collection, shorten(e.name))}
	}
	for _, in := range e.inner {
		i := slices.IndexFunc(rel.in, func(c string) bool { return s.strictEmbed(c, in) == nil })
		if i < 0 {
			return s.strictEmbed(rel.in[0], in)
		}
	}
	return nil
}
