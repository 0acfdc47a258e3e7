package database

import (
	"cmp"

	"pickup/internal/storage"
)

// Records refer to each other by members that carry an id: a schedule's
// driverId is the id of one of the drivers. Ids are compared as text: 2 and "2"
// are the same.

// ForeignKey returns the member by which the records of child refer to those of
// parent: the parent's Singular followed by Options.KeySuffix. If the schema has an x-ref to
// parent on other members only, it is the first of these by name.
func (s *Snapshot) ForeignKey(child, parent string) string {
	key, other := s.KeyOf(Singular(parent)), ""
	for _, ref := range s.schema.Member(child).References {
		switch {
		case ref.Member == key:
			return key
		case ref.Collection == parent && other == "":
			other = ref.Member
		}
	}
	return cmp.Or(other, key)
}

// A relation is what a name in _embed or _expand means for the records of one
// collection: the children that refer to a record, or the parent that it refers to.
type relation struct {
	children bool
	key      string   // the member with the id: of the children, or of the record
	in       []string // the collections of the related records
	id       string   // the member of the record that its children refer to
}

// relation returns the relation called name of the records of a collection, and
// whether there is one. expand prefers the parent if both are possible.
func (s *Snapshot) relation(collection, name string, expand bool) (relation, bool) {
	var children relation
	// Nothing refers to a singular resource: it has no id.
	if kind, ok := s.Kind(name); ok && kind == storage.Array && s.byName[collection].isArray() {
		children = relation{true, s.ForeignKey(name, collection), []string{name}, s.IDMember(collection)}
	}
	parent := relation{key: s.KeyOf(name)}
	for _, ref := range s.schema.Member(collection).References {
		if ref.Member == parent.key {
			parent.in = append(parent.in, ref.Collection)
		}
	}
	if parent.in == nil {
		for _, c := range s.list {
			if c.kind == storage.Array && Singular(c.name) == name {
				parent.in = append(parent.in, c.name)
			}
		}
	}
	switch {
	case children.in == nil:
		return parent, parent.in != nil
	case parent.in == nil:
		return children, true
	case expand:
		return parent, true
	}
	return children, true
}
