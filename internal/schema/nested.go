package schema

import (
	"cmp"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Nested returns the rules for the value at a path of a record. If these are rules for an array,
// Nested returns the rules for its elements, whose ids are in the field called idMember unless
// x-id-field names another field. An index in the path stands for any element.
//
// Array is set if the elements are objects, and Scalars if no element may be an object. The rules
// check nothing: a nested value is checked with its record.
func (r *Rules) Nested(path []string, idMember string) *Rules {
	n := &Rules{shape: r.shape.at(path), certain: r.certain.at(path), IDMember: idMember}
	if n.certain != nil && n.certain.items != nil {
		n.certain = n.certain.items
		n.Array = slices.ContainsFunc(n.certain.parts, describesObject)
		n.Scalars = slices.ContainsFunc(n.certain.parts, refusesObject)
	}
	if n.shape == nil {
		return n
	}
	if n.shape.items != nil {
		n.shape = n.shape.items
	}
	n.Known = n.shape.names
	for _, part := range n.shape.parts {
		x := extensionsOf(part)
		n.IDKind = cmp.Or(IDKind(x.idKind), n.IDKind)
		n.IDMember = cmp.Or(x.idMember, n.IDMember)
	}
	if id := n.shape.members[n.IDMember]; id != nil {
		if slices.ContainsFunc(id.parts, func(part *jsonschema.Schema) bool { return part.ReadOnly }) {
			n.readOnly = []string{n.IDMember}
		}
	}
	return n
}

func describesObject(part *jsonschema.Schema) bool {
	return !refusesObject(part) && (part.Types != nil || len(part.Properties) > 0)
}

func refusesObject(part *jsonschema.Schema) bool {
	return part.Types != nil && !slices.Contains(part.Types.ToStrings(), "object")
}

// With returns s with rules for another name. s may be nil.
func (s *Schema) With(name string, r *Rules) *Schema {
	out := new(Schema)
	if s != nil {
		*out = *s
	}
	out.rules = maps.Clone(out.rules)
	if out.rules == nil {
		out.rules = make(map[string]*Rules)
	}
	out.rules[name] = r
	return out
}
