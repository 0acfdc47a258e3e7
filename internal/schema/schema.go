package schema

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/rawjson"
)

// A Schema is the rules of a database: a JSON Schema (draft 2020-12) for the whole of
// db.json, in which properties.schedules.items describes one schedule. A Schema never
// changes; any number of goroutines may use it. A nil *Schema is valid and has no rules.
//
// Editors read the same file. docs/rules.md describes the keywords that pickup adds to
// JSON Schema.
//
// If the id is readOnly, the service makes the ids, and no rule applies to the id in a
// body. "required" may name the id, although bodies omit it.
//
// Formats are asserted: the formats of JSON Schema, and iso-date-time
// (YYYY-MM-DDTHH:MM:SS of a real calendar date with an optional Z or offset). An
// unknown format has no effect.
//
// Writes are checked against the rules for one record or one singular resource.
// Rules for a whole list (minItems, uniqueItems, contains, …) or for the root
// (required, propertyNames, …) are applied by Check alone.
type Schema struct {
	file  string         // the name of the file
	data  jsontext.Value // the content of the file
	root  *jsonschema.Schema
	names []string          // the properties of the root, in the order of the file
	rules map[string]*Rules // of the properties, by name
	at    locations
	shape *shape // of the root
}

// Rules are the rules of a Schema for one top-level field. They are read-only;
// the zero value allows anything.
type Rules struct {
	Array            bool              // the field is a collection
	Scalars          bool              // see Nested
	Description      string            // of the field
	Known            []string          // names of fields, sorted, then aliases
	RecordLocations  []string          // JSON Pointers into Schema.Text, to the schemas for every record
	Aliases          map[string]string // names of fields by alias, such as "driverId" by "driverID"
	Unique           []string          // fields whose values must be unique, sorted
	References       []Reference       // sorted by field
	RequiredOnCreate []string          // fields of a new record in addition to those in "required"
	IDMember         string            // "" without x-id-field
	IDKind           IDKind            // "" without x-id
	Stamps           []Stamp           // sorted by field

	at       locations
	whole    *jsonschema.Schema   // describes the field
	record   []*jsonschema.Schema // the schemas for an element, or for the object
	shape    *shape               // of the record, in any branch; nil if nothing is known
	certain  *shape               // of the record, without branches; nil if nothing is known
	plain    bool                 // there are rules for the elements, but none for the list
	historic bool                 // some values are historic
	readOnly []string             // names of fields
	emails   []string             // names of fields with the format email
}

// A Reference is a field whose values are ids of another collection.
type Reference struct {
	Member, Collection string
	OnDelete           OnDelete // the effect of deleting the referenced record
	MustExist          bool     // refuse a write if the referenced record does not exist
}

// Collections returns the names of the collections that the schema describes,
// in the order of the file.
func (s *Schema) Collections() []string {
	return slices.DeleteFunc(slices.Clone(s.Members()), func(name string) bool { return !s.rules[name].Array })
}

var noRules = new(Rules)

// Member returns the rules for a top-level field. The result is never nil.
func (s *Schema) Member(name string) *Rules {
	if s == nil || s.rules[name] == nil {
		return noRules
	}
	return s.rules[name]
}

// ReadOnlyID reports whether the service alone makes the ids.
func (r *Rules) ReadOnlyID() bool {
	return slices.Contains(r.readOnly, r.idMember())
}

func (r *Rules) idMember() string { return cmp.Or(r.IDMember, DefaultIDMember) }

// Owns reports whether the service alone sets the field: the id, or a time.
func (r *Rules) Owns(name string) bool {
	return r.Array && r.ReadOnlyID() && name == r.idMember() ||
		slices.ContainsFunc(r.Stamps, func(s Stamp) bool { return s.ReadOnly && s.Member == name })
}

// MovesIDs reports whether some collection has its ids in a field other than "id".
func (s *Schema) MovesIDs() bool {
	return s != nil && slices.ContainsFunc(s.names, func(name string) bool { return s.rules[name].IDMember != "" })
}

// WithIDMember returns the rules with the ids of records in that field ("" means
// "id"), except where x-id-field names another field.
func (s *Schema) WithIDMember(name string) *Schema {
	if s == nil || name == "" || name == DefaultIDMember {
		return s
	}
	out := *s
	out.rules = make(map[string]*Rules, len(s.rules))
	for collection, r := range s.rules {
		copied := *r
		copied.IDMember = cmp.Or(r.IDMember, name)
		out.rules[collection] = &copied
	}
	return &out
}

// Canonical returns the compact value with each alias replaced by the name of the field, and
// the replaced aliases by the names of their fields (sent). If a field is present under two
// names with equal values, Canonical drops one; different values are a fault, and both stay.
func (r *Rules) Canonical(value jsontext.Value) (_ jsontext.Value, sent map[string]string, faults []Fault) {
	isAlias := func(name string) bool {
		_, ok := r.Aliases[name]
		return ok
	}
	if len(r.Aliases) == 0 || !slices.ContainsFunc(rawjson.MemberNames(value), isAlias) {
		return value, nil, nil
	}
	out := append(make([]byte, 0, len(value)), '{')
	sent = make(map[string]string)
	for quoted, v := range rawjson.Members(value) {
		spelled := rawjson.Unquote(quoted)
		name, ok := r.Aliases[spelled]
		if !ok {
			out = rawjson.AppendQuotedMember(out, quoted, v)
			continue
		}
		other, found := rawjson.Member(value, name)
		if first, ok := sent[name]; ok && !found {
			other, _ = rawjson.Member(value, first)
			found = true
		}
		if !found {
			sent[name] = spelled
			out = rawjson.AppendMember(out, name, v)
		} else if !rawjson.Equal(v, other) {
			detail := "this is an alias of " + name + ", which has a different value here; send one of them"
			faults = append(faults, Fault{Pointer: rawjson.Pointer(spelled), Detail: detail})
			out = rawjson.AppendQuotedMember(out, quoted, v)
		}
	}
	return append(out, '}'), sent, faults
}

// Title returns the title of the rules, or "".
func (s *Schema) Title() string {
	if s == nil {
		return ""
	}
	return s.root.Title
}

// CanonicalPath replaces an alias at the start of a path by the name of the field.
func (r *Rules) CanonicalPath(path []string) {
	if len(path) > 0 {
		if canonical, ok := r.Aliases[path[0]]; ok {
			path[0] = canonical
		}
	}
}

// Text returns the source text of the schema.
func (s *Schema) Text() jsontext.Value {
	if s == nil {
		return nil
	}
	return s.data
}

// Declaration returns FILE:LINE of the declaration of a top-level field or, unless field is
// empty, of a field of the records. It returns "" if the schema has no declaration.
func (s *Schema) Declaration(member, field string) string {
	if s == nil {
		return ""
	}
	shape := s.shape
	name := member
	if field != "" {
		shape = s.Member(member).shape
		name = field
	}
	if shape == nil {
		return ""
	}
	for _, part := range shape.parts {
		if part.Properties[name] != nil {
			return s.line(fragment(part.Location) + "/properties" + rawjson.Pointer(name))
		}
		if slices.Contains(part.Required, name) {
			return s.line(fragment(part.Location) + "/required")
		}
	}
	for _, other := range s.names {
		for _, ref := range s.rules[other].References {
			if field == "" && ref.Collection == member {
				return s.Declaration(other, ref.Member)
			}
		}
	}
	return ""
}

// line returns FILE:LINE of the value at a pointer into the schema.
func (s *Schema) line(pointer string) string {
	line, _ := rawjson.LineColumn(s.data, rawjson.Offset(s.data, pointer))
	return fmt.Sprintf("%s:%d", filepath.Base(s.file), line)
}

// Members returns the names of the top-level fields that the schema
// describes, in the order of the file.
func (s *Schema) Members() []string {
	if s == nil {
		return nil
	}
	return s.names
}
