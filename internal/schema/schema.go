package schema

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/rawjson"
)

// A Schema is the rules of a database: a JSON Schema (draft 2020-12) whose
// root describes the whole of db.json, so that properties.schedules.items
// describes one schedule. It is compiled once and never changes; any number of
// goroutines may use it. A nil *Schema is valid and has no rules.
//
// The file that an editor reads is the one that is enforced. What JSON Schema
// cannot say is said with members of our own:
//
//	member                 belongs on           meaning
//	x-unique               a record's member    true: no two records of the collection have an equal value;
//	                                            null and an absent member equal nothing
//	x-alias                a record's member    other names that are accepted for the member, a list
//	x-ref                  a record's member    the collection whose id the value is, or whose ids it lists;
//	                                            a dangling reference refuses no write, Check reports it;
//	                                            {"collection":"drivers","on-delete":"cascade"} adds what a
//	                                            delete of the referenced record does: restrict refuses it,
//	                                            cascade deletes this record too, set-null makes the value
//	                                            null; without on-delete nothing happens
//	x-historic             an enum              values that stored records may keep but requests may not send
//	x-required-on-create   a record             members that a new record must have in addition to those
//	                                            in "required", a list
//	x-id                   a record             how new ids are made: auto, number, uuid or short (IDKind)
//	x-id-field             a record             the member with the id, if it is not "id"
//
// The service makes an id that is readOnly: no rule is applied to the id in a
// body. "required" may name it, although bodies omit it.
//
// Formats are asserted: those of JSON Schema, and iso-date-time, which is
// YYYY-MM-DDTHH:MM:SS of a real calendar date with an optional Z or offset. An
// unknown format is ignored.
//
// Writes are checked against the rules for one record or one singular resource.
// Rules for a whole list (minItems, uniqueItems, contains, …) or for the root
// (required, propertyNames, …) are applied by Check alone.
type Schema struct {
	data  jsontext.Value // the file
	root  *jsonschema.Schema
	names []string          // the root's properties, in the order of the file
	rules map[string]*Rules // of these, by name
	at    locations
	shape *shape // of the root
}

// Rules are what a Schema says of one top-level member. Nil Rules allow anything.
type Rules struct {
	at       locations
	array    bool                 // a collection
	whole    *jsonschema.Schema   // describes the member
	record   []*jsonschema.Schema // all of these describe an element, or the object
	shape    *shape               // of the record, nil if nothing is known
	plain    bool                 // there are rules for the elements alone, none for the list
	historic bool                 // some values are historic
	alias    map[string]string    // accepted spelling to name
	unique   []string             // names of members, sorted
	refs     []Reference          // sorted by member
	onCreate []string
	readOnly []string // names of members
	idMember string   // "" if the schema does not say
	idKind   IDKind   // "" if the schema does not say
}

// A Reference says that a member carries ids of another collection.
type Reference struct {
	Member, Collection string
	OnDelete           OnDelete // of the record when the other is deleted, or ""
}

// Collections returns the names of the collections that the schema describes,
// in the order of its file.
func (s *Schema) Collections() []string {
	if s == nil {
		return nil
	}
	var names []string
	for _, name := range s.names {
		if s.rules[name].array {
			names = append(names, name)
		}
	}
	return names
}

// Member returns the rules for a top-level member, nil where there are none.
func (s *Schema) Member(name string) *Rules {
	if s == nil {
		return nil
	}
	return s.rules[name]
}

// Array reports whether the member is a collection.
func (r *Rules) Array() bool { return r != nil && r.array }

// IDMember returns the member with the ids of the records, "" without
// x-id-field.
func (r *Rules) IDMember() string {
	if r == nil {
		return ""
	}
	return r.idMember
}

// IDKind returns how new ids are made, "" without x-id.
func (r *Rules) IDKind() IDKind {
	if r == nil {
		return ""
	}
	return r.idKind
}

// Unique returns the names of the members whose values must be unique.
func (r *Rules) Unique() []string {
	if r == nil {
		return nil
	}
	return r.unique
}

// References returns the members that carry ids of other collections.
func (r *Rules) References() []Reference {
	if r == nil {
		return nil
	}
	return r.refs
}

// RequiredOnCreate returns the members that a new record must have in addition
// to those in "required".
func (r *Rules) RequiredOnCreate() []string { return r.onCreate }

// Aliases returns the names of members by their aliases.
func (r *Rules) Aliases() map[string]string { return r.alias }

// Alias returns the member that name is an alias of, such as "driverId" for
// "driverID". It reports false if name is not an alias.
func (r *Rules) Alias(name string) (canonical string, ok bool) {
	if r != nil {
		canonical, ok = r.alias[name]
	}
	return canonical, ok
}

// ReadOnlyID reports whether the service alone makes the ids.
func (r *Rules) ReadOnlyID() bool {
	return r != nil && slices.Contains(r.readOnly, cmp.Or(r.idMember, DefaultIDMember))
}

// MovesIDs reports whether some collection has its ids in a member other than
// "id".
func (s *Schema) MovesIDs() bool {
	return s != nil && slices.ContainsFunc(s.names, func(name string) bool { return s.rules[name].idMember != "" })
}

// WithIDMember returns the rules of a database whose records have their ids in
// that member ("" means "id") unless x-id-field says otherwise.
func (s *Schema) WithIDMember(name string) *Schema {
	if s == nil || name == "" || name == DefaultIDMember {
		return s
	}
	out := *s
	out.rules = make(map[string]*Rules, len(s.rules))
	for collection, r := range s.rules {
		copied := *r
		copied.idMember = cmp.Or(r.idMember, name)
		out.rules[collection] = &copied
	}
	return &out
}

// Canonical returns the compact value with each alias replaced by the name of
// its member, and as sent the aliases by these names. If a member is present
// under two names, one is dropped if the values are equal; else that is a fault
// and both stay.
func (r *Rules) Canonical(value jsontext.Value) (_ jsontext.Value, sent map[string]string, faults []Fault) {
	if r == nil || !r.spelledOtherwise(value) {
		return value, nil, nil
	}
	out := make([]byte, 0, len(value))
	out = append(out, '{')
	add := func(name, v jsontext.Value) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), v...)
	}
	sent = make(map[string]string)
	for quoted, v := range rawjson.Members(value) {
		spelled := rawjson.Unquote(quoted)
		name, ok := r.alias[spelled]
		if !ok {
			add(quoted, v)
			continue
		}
		other, found := rawjson.Member(value, name)
		if first, ok := sent[name]; ok && !found {
			other, _ = rawjson.Member(value, first)
			found = true
		}
		switch {
		case !found:
			sent[name] = spelled
			add(rawjson.AppendQuote(nil, name), v)
		case !rawjson.Equal(v, other):
			faults = append(faults, Fault{rawjson.Pointer(spelled), "this is an alias of " + name + ", which has a different value here; send one of them"})
			add(quoted, v)
		}
	}
	return append(out, '}'), sent, faults
}

// spelledOtherwise reports whether value has a member under an alias.
func (r *Rules) spelledOtherwise(value jsontext.Value) (found bool) {
	if len(r.alias) == 0 {
		return false
	}
	for quoted := range rawjson.Members(value) {
		if _, found = r.alias[rawjson.Unquote(quoted)]; found {
			return true
		}
	}
	return false
}

// Title returns the title of the rules, or "".
func (s *Schema) Title() string {
	if s == nil {
		return ""
	}
	return s.root.Title
}

// Faults returns what is wrong with a compact record, or singular resource, as
// the body of a request.
func (r *Rules) Faults(value jsontext.Value) []Fault {
	if r == nil {
		return nil
	}
	return tidy(r.findSent(value))
}

// aliasesOf returns the aliases of a member, sorted.
func aliasesOf(name string, alias map[string]string) (spelled []string) {
	for other, canonical := range alias {
		if canonical == name {
			spelled = append(spelled, other)
		}
	}
	slices.Sort(spelled)
	return spelled
}

// CanonicalPath replaces an alias as the first token of a path by the name of
// its member.
func (r *Rules) CanonicalPath(path []string) {
	if len(path) > 0 {
		if canonical, ok := r.Alias(path[0]); ok {
			path[0] = canonical
		}
	}
}

// Text returns the text that the schema was compiled from.
func (s *Schema) Text() jsontext.Value {
	if s == nil {
		return nil
	}
	return s.data
}

// Members returns the names of the top-level members that the schema
// describes, in the order of its file.
func (s *Schema) Members() []string {
	if s == nil {
		return nil
	}
	return s.names
}
