package schema

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/rawjson"
)

// readRules reads the rules of each top-level field from the compiled root.
func (s *Schema) readRules(data jsontext.Value) *schemaMistake {
	shapes := &shaper{branches: true, made: make(map[string]*shape)}
	certain := &shaper{made: make(map[string]*shape)}
	s.shape = shapes.of(s.root)
	s.rules = make(map[string]*Rules)
	for _, part := range s.shape.parts {
		names := rawjson.At(data, fragment(part.Location)+"/properties")
		for name := range rawjson.Fields(names) {
			if s.rules[name] == nil && name != declaration {
				s.names = append(s.names, name)
				s.rules[name] = newRules(s.at, part.Properties[name], s.shape.members[name])
				s.rules[name].certain = certain.of(s.rules[name].record...)
			}
		}
	}
	if endless := s.at.endless(); endless != nil {
		return &schemaMistake{fragment(endless.Location), "the schema refers to itself without end"}
	}
	for _, name := range s.names {
		if m := s.rules[name].readRecord(); m != nil {
			return m
		}
	}
	for _, shape := range shapes.made {
		for _, part := range shape.parts {
			extensionsOf(part).roles |= onValue
		}
		if shape.items != nil {
			for _, part := range shape.items.parts {
				extensionsOf(part).roles |= onElement
			}
		}
	}
	for _, location := range slices.Sorted(maps.Keys(s.at)) {
		x := extensionsOf(s.at[location])
		if m := x.misplaced(); m != nil {
			return m
		}
		for _, r := range s.rules {
			r.historic = r.historic || x.historic != nil
		}
	}
	return nil
}

// A role is the kind of values that a schema with extension keywords describes.
type role uint8

const (
	onRecord  role = 1 << iota // records of a collection
	onMember                   // a field of a record or singular resource
	onUnique                   // a field of a record of a collection
	onItems                    // the elements of a field
	onElement                  // the elements of a nested array
	onValue                    // any value below properties and items
)

// misplaced returns a mistake for the first extension keyword without an effect at its place.
func (x *extensions) misplaced() *schemaMistake {
	for _, k := range []struct {
		keyword string
		present bool
		roles   role
		where   string
	}{
		{"x-historic", x.historic != nil, onValue, "a schema below properties or items"},
		{"x-required-on-create", x.onCreate != nil, onRecord, "the records of a collection"},
		{"x-id", x.idKind != "", onRecord | onElement, "the records of a collection or the items of a field"},
		{"x-id-field", x.idMember != "", onRecord | onElement, "the records of a collection or the items of a field"},
		{"x-unique", x.unique, onUnique, "a field of a collection's records"},
		{"x-now", x.now != "", onMember, "a field of a record"},
		{"x-alias", x.alias != nil, onMember, "a field of a record"},
		{"x-ref", x.ref != "", onMember | onItems, "a field of a record, or on the items of a field"},
	} {
		if k.present && x.roles&k.roles == 0 {
			return &schemaMistake{x.pointer + "/" + k.keyword, k.keyword + " is only allowed on " + k.where}
		}
	}
	return nil
}

// newRules returns the rules for a top-level field with the schema whole.
func newRules(at locations, whole *jsonschema.Schema, shape *shape) *Rules {
	r := &Rules{at: at, whole: whole, shape: shape, plain: true, Description: whole.Description}
	for _, part := range shape.parts {
		isList := part.Types != nil && slices.Equal(part.Types.ToStrings(), []string{"array"})
		r.Array = r.Array || isList || len(itemsOf(part)) > 0
		r.plain = r.plain && extensionsOf(part).bare
	}
	if !r.Array {
		r.record = []*jsonschema.Schema{whole}
		return r
	}
	r.shape = shape.items
	for _, part := range gather(false, whole) {
		r.record = append(r.record, itemsOf(part)...)
	}
	return r
}

// readRecord reads the extensions of a record and of the fields, and sets the roles.
func (r *Rules) readRecord() *schemaMistake {
	if r.shape == nil {
		return nil
	}
	roles := onMember
	if r.Array {
		roles |= onUnique
	}
	r.Known = r.shape.names
	for _, sch := range r.record {
		r.RecordLocations = append(r.RecordLocations, fragment(sch.Location))
	}
	for _, part := range r.shape.parts {
		x := extensionsOf(part)
		if r.Array {
			x.roles |= onRecord
		}
		r.IDKind = cmp.Or(IDKind(x.idKind), r.IDKind)
		r.IDMember = cmp.Or(x.idMember, r.IDMember)
		for _, name := range x.onCreate {
			if r.shape.members[name] == nil {
				return &schemaMistake{x.pointer + "/x-required-on-create", name + " is not one of the properties"}
			}
			r.RequiredOnCreate = append(r.RequiredOnCreate, name)
		}
	}
	r.Aliases = make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(r.shape.members)) {
		if m := r.readMember(name, r.shape.members[name], roles); m != nil {
			return m
		}
	}
	return nil
}

// readMember reads the extensions of one field, and adds the roles.
func (r *Rules) readMember(name string, member *shape, roles role) *schemaMistake {
	for _, part := range member.parts {
		x := extensionsOf(part)
		x.roles |= roles
		for _, spelling := range x.alias {
			if other := r.Aliases[spelling]; r.shape.members[spelling] != nil || other != "" && other != name {
				return &schemaMistake{x.pointer + "/x-alias", spelling + " already means another field"}
			}
			r.Aliases[spelling] = name
		}
		if x.unique && !slices.Contains(r.Unique, name) {
			r.Unique = append(r.Unique, name)
		}
		if part.Format != nil && part.Format.Name == "email" {
			r.emails = append(r.emails, name)
		}
		r.addReference(name, x)
		if part.ReadOnly {
			r.readOnly = append(r.readOnly, name)
		}
	}
	if m := r.readStamp(name, member.parts); m != nil {
		return m
	}
	if member.items != nil { // a reference may be an id or a list of ids
		for _, part := range member.items.parts {
			extensionsOf(part).roles |= onItems
			r.addReference(name, extensionsOf(part))
		}
	}
	return nil
}

// addReference adds the reference in x, if it is new.
func (r *Rules) addReference(member string, x *extensions) {
	ref := Reference{member, x.ref, x.onDelete, x.must}
	if x.ref != "" && !slices.Contains(r.References, ref) {
		r.References = append(r.References, ref)
	}
}

// describing returns the schemas for every value of the field, and the schemas for the
// elements.
func (r *Rules) describing(member string) (value, element []*jsonschema.Schema) {
	if r.certain == nil || r.certain.members[member] == nil {
		return nil, nil
	}
	m := r.certain.members[member]
	if m.items != nil {
		element = m.items.parts
	}
	return m.parts, element
}

// TypedIDs returns the kind of ids that the schema implies for a collection: by the type
// of the field with the id or, without a type, by references with numbers. Otherwise
// TypedIDs returns AutoIDs.
func (s *Schema) TypedIDs(collection, member string) IDKind {
	own, _ := s.Member(collection).describing(member)
	typed := slices.ContainsFunc(own, func(part *jsonschema.Schema) bool { return part.Types != nil })
	if kind := typedIDs(own); kind != AutoIDs || typed || s == nil {
		return kind
	}
	for _, name := range s.names {
		for _, ref := range s.rules[name].References {
			id, element := s.rules[name].describing(ref.Member)
			if ref.Collection == collection && (typedIDs(id) == NumberIDs || typedIDs(element) == NumberIDs) {
				return NumberIDs
			}
		}
	}
	return AutoIDs
}

// typedIDs returns the kind of ids that match all the schemas.
func typedIDs(all []*jsonschema.Schema) IDKind {
	texts, numbers := true, true
	for _, part := range all {
		if part.Format != nil && part.Format.Name == "uuid" {
			return UUIDs
		}
		if part.Types != nil {
			types := part.Types.ToStrings()
			texts = texts && slices.Contains(types, "string")
			numbers = numbers && (slices.Contains(types, "number") || slices.Contains(types, "integer"))
		}
	}
	if numbers == texts {
		return AutoIDs
	}
	if numbers {
		return NumberIDs
	}
	return TextIDs
}

// Scalar returns the kind of the strings, numbers or booleans ('t') at a path of a record. It
// returns 0 if the rules allow values of several of these kinds, or none.
func (r *Rules) Scalar(path []string) jsontext.Kind {
	path = slices.Clone(path)
	r.CanonicalPath(path)
	s := r.certain
	for _, name := range path {
		if s != nil {
			s = s.members[name]
		}
	}
	if s == nil {
		return 0
	}
	left := []jsontext.Kind{'"', '0', 't'}
	for _, part := range s.parts {
		left = slices.DeleteFunc(left, func(kind jsontext.Kind) bool { return !allowsKind(part, kind) })
	}
	if len(left) != 1 {
		return 0
	}
	return left[0]
}

// allowsKind reports whether the type, enum and const of a schema leave values of a kind.
func allowsKind(sch *jsonschema.Schema, kind jsontext.Kind) bool {
	names := map[jsontext.Kind][]string{'"': {"string"}, '0': {"number", "integer"}, 't': {"boolean"}}[kind]
	isNamed := func(name string) bool { return slices.Contains(names, name) }
	if sch.Types != nil && !slices.ContainsFunc(sch.Types.ToStrings(), isNamed) {
		return false
	}
	isKind := func(v any) bool {
		k := jsontext.Value(encode(v)).Kind()
		return k == kind || k == 'f' && kind == 't'
	}
	if sch.Enum != nil && !slices.ContainsFunc(sch.Enum.Values, isKind) {
		return false
	}
	return sch.Const == nil || isKind(*sch.Const)
}

// UniqueKey returns a key that equal values of the unique field called name share. E-mail
// addresses are equal if they differ in case only.
func (r *Rules) UniqueKey(name string, value jsontext.Value) string {
	key := rawjson.Identity(value)
	if slices.Contains(r.emails, name) {
		return strings.ToLower(key)
	}
	return key
}
