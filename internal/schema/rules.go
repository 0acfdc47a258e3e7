package schema

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/rawjson"
)

// readRules reads from the compiled root what the rest of the engine asks for.
func (s *Schema) readRules(data jsontext.Value) *schemaMistake {
	shapes := make(shaper)
	s.shape = shapes.of(s.root)
	s.rules = make(map[string]*Rules)
	understood := make(map[place]bool)
	for _, part := range s.shape.parts {
		names := rawjson.At(data, fragment(part.Location)+"/properties")
		for quoted := range rawjson.Members(names) {
			name := rawjson.Unquote(quoted)
			if s.rules[name] == nil && name != "$schema" {
				s.names = append(s.names, name)
				s.rules[name] = newRules(s.at, part.Properties[name], s.shape.members[name])
			}
		}
	}
	for _, name := range s.names {
		if m := s.rules[name].readMembers(understood); m != nil {
			return m
		}
	}
	if endless := s.at.endless(); endless != nil {
		return &schemaMistake{fragment(endless.Location), "the schema refers to itself without end"}
	}
	historic := make(map[*extras]bool) // where it is understood
	for _, shape := range shapes {
		for _, part := range shape.parts {
			historic[extrasOf(part)] = true
		}
	}
	for _, location := range slices.Sorted(maps.Keys(s.at)) {
		x := extrasOf(s.at[location])
		for _, r := range s.rules {
			r.historic = r.historic || x.historic != nil
		}
		switch {
		case x.historic != nil && !historic[x]:
			return &schemaMistake{x.pointer + "/x-historic", "x-historic belongs on what properties and items lead to, not here"}
		case x.onCreate != nil && !understood[place{x, onRecord}]:
			return &schemaMistake{x.pointer + "/x-required-on-create", "x-required-on-create belongs on the records of a collection, not here"}
		case x.idKind != "" && !understood[place{x, onRecord}]:
			return &schemaMistake{x.pointer + "/x-id", "x-id belongs on the records of a collection, not here"}
		case x.idMember != "" && !understood[place{x, onRecord}]:
			return &schemaMistake{x.pointer + "/x-id-field", "x-id-field belongs on the records of a collection, not here"}
		case x.unique && !understood[place{x, onMember}]:
			return &schemaMistake{x.pointer + "/x-unique", "x-unique belongs on a member of a collection's records, not here"}
		case x.alias != nil && !understood[place{x, onMember}]:
			return &schemaMistake{x.pointer + "/x-alias", "x-alias belongs on a member of a record, not here"}
		case x.ref != "" && !understood[place{x, onMember}] && !understood[place{x, onItems}]:
			return &schemaMistake{x.pointer + "/x-ref", "x-ref belongs on a member of a record, or on the items of one, not here"}
		}
	}
	return nil
}

// A place is where our own members were understood.
type place struct {
	extras *extras
	role   role
}

// A role is what a schema with our own members describes.
type role uint8

const (
	onRecord role = iota
	onMember      // of a record
	onItems       // of a member that is a list
)

// newRules returns the rules for a top-level member: whole describes it.
func newRules(at locations, whole *jsonschema.Schema, shape *shape) *Rules {
	r := &Rules{at: at, whole: whole, shape: shape, plain: true}
	for _, part := range shape.parts {
		r.array = r.array || len(itemsOf(part)) > 0 || part.Types != nil && slices.Equal(part.Types.ToStrings(), []string{"array"})
		r.plain = r.plain && extrasOf(part).bare
	}
	if !r.array {
		r.record = []*jsonschema.Schema{whole}
		return r
	}
	r.shape = shape.items
	for _, part := range gather([]*jsonschema.Schema{whole}, false) {
		r.record = append(r.record, itemsOf(part)...)
	}
	return r
}

// readMembers reads what is said with our own members of a record and of its
// members, and enters into understood which they are.
func (r *Rules) readMembers(understood map[place]bool) *schemaMistake {
	if r.shape == nil {
		return nil
	}
	r.alias = make(map[string]string)
	for _, part := range r.shape.parts {
		x := extrasOf(part)
		understood[place{x, onRecord}] = r.array
		if x.idKind != "" {
			r.idKind = IDKind(x.idKind)
		}
		if x.idMember != "" {
			r.idMember = x.idMember
		}
		for _, name := range x.onCreate {
			if r.shape.members[name] == nil {
				return &schemaMistake{x.pointer + "/x-required-on-create", fmt.Sprintf("%s is not one of the properties", name)}
			}
			r.onCreate = append(r.onCreate, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.shape.members)) {
		for _, part := range r.shape.members[name].parts {
			x := extrasOf(part)
			understood[place{x, onMember}] = r.array || !x.unique
			for _, spelling := range x.alias {
				if other := r.alias[spelling]; r.shape.members[spelling] != nil || other != "" && other != name {
					return &schemaMistake{x.pointer + "/x-alias", fmt.Sprintf("%s already means another member", spelling)}
				}
				r.alias[spelling] = name
			}
			if x.unique && !slices.Contains(r.unique, name) {
				r.unique = append(r.unique, name)
			}
			if x.ref != "" {
				r.refers(Reference{name, x.ref, x.onDelete})
			}
			if part.ReadOnly {
				r.readOnly = append(r.readOnly, name)
			}
		}
		// A reference may be an id or a list of ids, so it is the same to say
		// it of the list and of what is in it.
		if items := r.shape.members[name].items; items != nil {
			for _, part := range items.parts {
				if x := extrasOf(part); x.ref != "" {
					understood[place{x, onItems}] = true
					r.refers(Reference{name, x.ref, x.onDelete})
				}
			}
		}
	}
	return nil
}

// refers enters a reference once, however often it is said.
func (r *Rules) refers(ref Reference) {
	if !slices.Contains(r.refs, ref) {
		r.refs = append(r.refs, ref)
	}
}

// TypedIDs returns the kind that goes with what is said of the member with the
// id, AutoIDs where that leaves it open.
func (r *Rules) TypedIDs(member string) IDKind {
	texts, numbers := true, true
	var named []*jsonschema.Schema
	for _, part := range gather(r.record, false) {
		named = append(named, part.Properties[member])
	}
	for _, part := range gather(named, false) {
		if part.Format != nil && part.Format.Name == "uuid" {
			return UUIDs
		}
		if part.Types != nil {
			types := part.Types.ToStrings()
			texts = texts && slices.Contains(types, "string")
			numbers = numbers && (slices.Contains(types, "number") || slices.Contains(types, "integer"))
		}
	}
	switch {
	case numbers && !texts:
		return NumberIDs
	case texts && !numbers:
		return TextIDs
	}
	return AutoIDs
}
