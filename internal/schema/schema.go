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
//	member                 stands on            says
//	x-unique               a record's member    true: no two records of the collection have an equal value;
//	                                            null and an absent member equal nothing
//	x-alias                a record's member    the other names that are accepted for it, a list of strings
//	x-ref                  a record's member    the collection of whose ids the value is one, or a list of some;
//	                                            that it leads nowhere refuses no write, and Check tells it;
//	                                            {"collection":"drivers","on-delete":"cascade"} says too what
//	                                            becomes of the record when the other is deleted: restrict
//	                                            refuses that, cascade deletes this one too, set-null makes
//	                                            the value null; without it nothing happens
//	x-historic             an enum             those of its values that stored records keep and that no
//	                                            request may send any more
//	x-required-on-create   a record             the members that a new record must have, beside those in
//	                                            "required"; a list of strings
//	x-id                   a record             how new ids are made: auto, number, uuid or short (IDKind)
//	x-id-field             a record             the member that carries the id, where it is not "id"
//
// Of an id that is readOnly the service takes care: what a body says of it is
// judged by no rule. "required" may name it, although bodies come without.
//
// Formats are asserted: those of JSON Schema, and iso-date-time, which is
// YYYY-MM-DDTHH:MM:SS of a real calendar date with an optional Z or offset. A
// format that is not known says nothing.
//
// Writes are judged by the rules for one record or one singular resource. Rules
// for a list as a whole (minItems, uniqueItems, contains, …) or for the root
// (required, propertyNames, …) are judged by Check alone.
type Schema struct {
	data  jsontext.Value // the file
	root  *jsonschema.Schema
	names []string          // the root's properties, in the order of the file
	rules map[string]*Rules // of these, by name
	at    locations
	shape *shape // of the root
}

// Rules are what a Schema says of one top-level member. nil Rules say nothing.
type Rules struct {
	at       locations
	array    bool                 // a collection
	whole    *jsonschema.Schema   // describes the member
	record   []*jsonschema.Schema // all of these describe an element, or the object
	shape    *shape               // of the record; nil: nothing is known
	plain    bool                 // nothing is said of the member but what its elements are
	historic bool                 // some values are kept but no longer taken
	alias    map[string]string    // accepted spelling to name
	unique   []string             // names of members, sorted
	refs     []Reference          // sorted by member
	onCreate []string
	readOnly []string // names of members
	idMember string   // "": what Options say
	idKind   IDKind   // the same
}

// A Reference says that a member carries ids of another collection.
type Reference struct {
	Member, Collection string
	OnDelete           OnDelete // what becomes of the record; "" says nothing
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

// IDMember returns the member that carries the ids of the records, "" where
// x-id-field does not say.
func (r *Rules) IDMember() string {
	if r == nil {
		return ""
	}
	return r.idMember
}

// IDKind returns how new ids are made, "" where x-id does not say.
func (r *Rules) IDKind() IDKind {
	if r == nil {
		return ""
	}
	return r.idKind
}

// Unique returns the names of the members of which no two records may have an
// equal value.
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

// RequiredOnCreate returns the members that a new record must have beside
// those in "required".
func (r *Rules) RequiredOnCreate() []string { return r.onCreate }

// Aliases returns the accepted spellings of members, and for each the name.
func (r *Rules) Aliases() map[string]string { return r.alias }

// Alias returns the name of the member that is called name in requests and in
// hand-edited files: "driverId" for "driverID". It reports false where name is
// no x-alias.
func (r *Rules) Alias(name string) (canonical string, ok bool) {
	if r != nil {
		canonical, ok = r.alias[name]
	}
	return canonical, ok
}

// ReadOnlyID reports whether the ids are made by the service alone.
func (r *Rules) ReadOnlyID() bool {
	return r != nil && slices.Contains(r.readOnly, cmp.Or(r.idMember, DefaultIDMember))
}

// MovesIDs reports whether the ids of some collection are in another member
// than "id".
func (s *Schema) MovesIDs() bool {
	return s != nil && slices.ContainsFunc(s.names, func(name string) bool { return s.rules[name].idMember != "" })
}

// WithIDMember returns the rules of a database whose records carry their ids
// in that member, "" for "id", where no x-id-field says otherwise.
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

// Canonical returns value, which must be compact, with the names that the
// schema gives its members, each in its place, and as sent the spelling under
// which a member came where it is another one. Where a member stands there
// under two names, one is dropped if the values are equal; else that is a
// fault and both stay.
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

// spelledOtherwise reports whether value has a member under one of its other
// names.
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

// Title returns the title of the rules, "" where they have none.
func (s *Schema) Title() string {
	if s == nil {
		return ""
	}
	return s.root.Title
}

// Faults returns what is wrong with a record, or with a singular resource, if
// it is sent. It must be compact. nil is nothing.
func (r *Rules) Faults(value jsontext.Value) []Fault {
	if r == nil {
		return nil
	}
	return tidy(r.findSent(value))
}

// aliasesOf returns the other names of a member, sorted.
func aliasesOf(name string, alias map[string]string) (spelled []string) {
	for other, canonical := range alias {
		if canonical == name {
			spelled = append(spelled, other)
		}
	}
	slices.Sort(spelled)
	return spelled
}

// CanonicalPath gives the first token of a path the name that the schema has
// for it.
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
