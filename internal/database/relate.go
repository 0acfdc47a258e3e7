package database

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// Records refer to each other by fields that carry an id: a schedule's driverId is
// the id of one of the drivers. Ids are compared as text: 2 and "2" are the same.

// ForeignKey returns the field by which the records of child refer to the records of
// parent: the singular of parent followed by Options.KeySuffix. If the schema has an x-ref to
// parent on other fields only, ForeignKey returns the first of these fields by name.
func (s *Snapshot) ForeignKey(child, parent string) string {
	key := s.KeyOf(spell.Singular(parent))
	other := ""
	for _, ref := range s.schema.Member(child).References {
		if ref.Member == key {
			return key
		}
		if ref.Collection == parent && other == "" {
			other = ref.Member
		}
	}
	return cmp.Or(other, key)
}

// Refers reports whether records of child refer to the records of parent, by the rules or by a
// field that a record has.
func (s *Snapshot) Refers(child, parent string) bool {
	key := s.ForeignKey(child, parent)
	return s.byName[child].isArray() && (s.Occurs(child, key) || s.schema.Member(child).Knows([]string{key}))
}

// A relation is the meaning of a name in _embed or _expand for the records of a
// collection: the children that refer to a record, or the parent to which a record refers.
type relation struct {
	children bool
	key      string   // the field with the id, of the children or of the record
	in       []string // the collections of the related records
	id       string   // the field of the record with the id in key
}

// relation returns the relation called name of the records of a collection, and
// whether there is one. expand prefers the parent if both are possible.
func (s *Snapshot) relation(collection, name string, expand bool) (relation, bool) {
	var children relation
	// Nothing refers to a nested record, or to a singular resource: it has no id.
	own := s.byName[collection]
	if kind, ok := s.Kind(name); ok && kind == storage.Array && own.isArray() && !own.nested {
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
			if c.kind == storage.Array && spell.Singular(c.name) == name {
				parent.in = append(parent.in, c.name)
			}
		}
	}
	if children.in == nil || expand && parent.in != nil {
		return parent, parent.in != nil
	}
	return children, true
}

// A Relation is a field by which the records of a collection refer to the records of another.
type Relation struct {
	From     string          `json:"from"`
	Member   string          `json:"member"`
	To       string          `json:"to"`
	List     bool            `json:"list"`               // the field holds a list of ids
	OnDelete schema.OnDelete `json:"onDelete,omitempty"` // of the schema, or ""
	Embed    string          `json:"embed,omitempty"`    // the name for _embed in To, or ""
	Expand   string          `json:"expand,omitempty"`   // the name for _expand in From, or ""
}

// Relations returns the relations of the schema, and the relations that fields have by
// name. It looks for names in the schema and in the first records of each collection, at
// most the given number.
func (s *Snapshot) Relations(most int) (all []Relation) {
	byKey := make(map[string]string) // collections by the field that refers to them
	for _, c := range slices.Backward(s.list) {
		if c.isArray() {
			byKey[s.KeyOf(spell.Singular(c.name))] = c.name
		}
	}
	for _, c := range s.list {
		if !c.isArray() {
			continue
		}
		rules := s.schema.Member(c.name)
		names := make(map[string]bool)
		for _, name := range rules.Known {
			_, alias := rules.Aliases[name]
			names[name] = !alias
		}
		n := 0
		for _, r := range c.records.All() {
			for name := range rawjson.Fields(r.Value) {
				names[name] = true
			}
			n++
			if n == most {
				break
			}
		}
		for _, ref := range rules.References {
			names[ref.Member] = false
			all = s.appendRelation(all, Relation{
				From:     c.name,
				Member:   ref.Member,
				To:       ref.Collection,
				List:     rules.IsList(ref.Member),
				OnDelete: ref.OnDelete,
			})
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if to, ok := byKey[name]; ok && names[name] {
				all = s.appendRelation(all, Relation{From: c.name, Member: name, To: to})
			}
		}
	}
	return all
}

// appendRelation appends a relation to a collection that exists, with the names by
// which queries follow it.
func (s *Snapshot) appendRelation(all []Relation, r Relation) []Relation {
	if !s.byName[r.To].isArray() {
		return all
	}
	if !r.List && s.ForeignKey(r.From, r.To) == r.Member {
		r.Embed = r.From
	}
	if name, ok := strings.CutSuffix(r.Member, s.KeyOf("")); ok && !r.List {
		if parent, ok := s.relation(r.From, name, true); ok && !parent.children && slices.Contains(parent.in, r.To) {
			r.Expand = name
		}
	}
	return append(all, r)
}
