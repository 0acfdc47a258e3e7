package describe

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// A Description describes in JSON Schema what a database stores and accepts. Only the rules describe
// a resource with rules, although stored values may violate the rules.
type Description struct {
	// Dialect is the "$schema" of the rules, or "".
	Dialect string

	// Definitions are the schemas by name. A reference to a definition is Options.Prefix and the
	// name.
	Definitions []Definition

	// Resources are the collections and singular resources, in the order of the file.
	Resources []Resource
}

// A Definition is a named schema. The name is a letter followed by letters and digits.
type Definition struct {
	Name   string
	Schema jsontext.Value // compact
}

// A Resource is a collection or a singular resource, with the names of the definitions of its
// schemas. A resource without rules has the same schema for every kind of body.
type Resource struct {
	Name     string
	About    string // the description in the rules, or ""
	Kind     storage.Kind
	Members  []string // the known fields of a record
	IDMember string   // "" for a singular resource
	Parents  []Parent // the collections that the records refer to

	Record     string // a stored record, or the singular resource
	Create     string // the body of POST; "" for a singular resource
	Replace    string // the body of PUT
	MergePatch string // the body of PATCH
}

// A Parent is a collection that the records of another collection refer to.
type Parent struct {
	Collection string
	Member     string // the field with the id of the parent, such as driverId
}

// Options select what Database describes.
type Options struct {
	Prefix   string   // of references to definitions, such as "#/$defs/"
	Reserved []string // names that no definition may have
}

// Database returns the Description of a snapshot.
func Database(s *database.Snapshot, o Options) *Description {
	d := &describer{
		Options: o,
		snap:    s,
		rules:   s.Schema().Text(),
		names:   make(map[string]string),
		taken:   make(map[string]bool),
	}
	for _, name := range o.Reserved {
		d.taken[name] = true
	}
	d.out.Dialect = rawjson.String(rawjson.Get(d.rules, "$schema"))
	var records []*record
	for _, name := range s.Names() {
		if kind, _ := s.Kind(name); kind != storage.Other {
			records = append(records, d.record(name, kind))
		}
	}
	for _, r := range records {
		if len(r.at) > 0 {
			d.ruled(r)
		} else {
			d.inferred(r)
		}
		d.parents(r)
		d.out.Resources = append(d.out.Resources, r.Resource)
	}
	for len(d.queue) > 0 {
		pointer := d.queue[0]
		d.queue = d.queue[1:]
		d.define(d.names[pointer], d.copy(rawjson.At(d.rules, pointer), false))
	}
	return &d.out
}

// A describer builds a Description.
type describer struct {
	Options
	snap  *database.Snapshot
	rules jsontext.Value    // the text of the rules, nil without rules
	names map[string]string // of the schemas in the rules, by pointer
	taken map[string]bool   // names in use
	queue []string          // pointers of named schemas without a definition yet
	out   Description
}

// A record is a Resource with rules.
type record struct {
	Resource
	rules *schema.Rules
	at    []string // pointers to the schemas that together describe a record
}

// record names the schema of a collection's records, or of a singular resource.
func (d *describer) record(name string, kind storage.Kind) *record {
	r := &record{Resource: Resource{Name: name, Kind: kind}}
	title := name
	if kind == storage.Array {
		title = spell.Singular(name)
		r.IDMember = d.snap.IDMember(name)
	}
	r.Record = d.name(title)
	rules := d.snap.Schema().Member(name)
	if rules.Array != (kind == storage.Array) {
		return r // rules for the other kind of resource
	}
	r.rules = rules
	r.About = rules.Description
	for _, pointer := range rules.RecordLocations {
		r.at = append(r.at, d.follow(pointer))
	}
	if len(r.at) != 1 {
		return r
	}
	at := r.at[0]
	if d.names[at] == "" && (r.IDMember == "" || d.requires(at, r.IDMember)) {
		d.names[at] = r.Record
	}
	return r
}

// parents fills in the collections that the records of r refer to.
func (d *describer) parents(r *record) {
	if r.Kind != storage.Array {
		return
	}
	for _, parent := range d.snap.Names() {
		kind, _ := d.snap.Kind(parent)
		member := d.snap.ForeignKey(r.Name, parent)
		exists := slices.Contains(r.Members, member) || len(r.at) > 0 && d.snap.Occurs(r.Name, member)
		if kind == storage.Array && exists {
			r.Parents = append(r.Parents, Parent{parent, member})
		}
	}
}

// inferred describes a resource without rules by the data. Only the id is required, and a body is
// any object.
func (d *describer) inferred(r *record) {
	in := inferenceOf(d.snap, r.Name, false)
	found := jsontext.Value(in.schema(inferring{}))
	properties := rawjson.Get(found, "properties")
	r.Members = rawjson.MemberNames(properties)
	if r.IDMember != "" && in.count('{') > 0 {
		if !slices.Contains(r.Members, r.IDMember) {
			r.Members = slices.Insert(r.Members, 0, r.IDMember)
			if properties == nil {
				properties = jsontext.Value("{}")
			}
			properties = rawjson.SetMember(properties, r.IDMember, `{"type":["string","number"]}`)
			found = rawjson.MergeMembers(found,
				append(rawjson.AppendMember([]byte("{"), "properties", properties), '}'))
		}
		found = withRequired(found, r.IDMember)
	}
	d.define(r.Record, found)

	body := []byte(`{"description":"Any object: there are no rules.","type":"object"`)
	members := []byte("{")
	for _, name := range r.Members {
		if name != r.IDMember {
			members = rawjson.AppendMember(members, name, []byte("{}"))
		}
	}
	if len(members) > 1 {
		body = rawjson.AppendMember(body, "properties", append(members, '}'))
	}
	r.Replace = d.name(r.Record + "Body")
	r.MergePatch = r.Replace
	if r.Kind == storage.Array {
		r.Create = r.Replace
	}
	d.define(r.Replace, append(body, '}'))
}

// ruled describes a resource by its rules.
func (d *describer) ruled(r *record) {
	for _, part := range d.parts(r) {
		for _, name := range rawjson.MemberNames(rawjson.Get(part, "properties")) {
			if !slices.Contains(r.Members, name) {
				r.Members = append(r.Members, name)
			}
		}
	}
	for _, name := range r.rules.Known { // also in branches such as anyOf
		if _, alias := r.rules.Aliases[name]; !alias && !slices.Contains(r.Members, name) {
			r.Members = append(r.Members, name)
		}
	}
	d.stored(r)
	given := form{optional: []string{r.IDMember}} // by the service
	for _, s := range r.rules.Stamps {
		given.optional = append(given.optional, s.Member)
	}
	if r.Kind == storage.Array {
		create := given
		create.required = r.rules.RequiredOnCreate
		create.without = slices.DeleteFunc(slices.Clone(given.optional),
			func(name string) bool { return !r.rules.Owns(name) })
		r.Create = d.body(r, "Create", create)
	}
	r.Replace = d.body(r, "Replace", given)
	r.MergePatch = d.body(r, "MergePatch", form{
		patch: true,
		about: "A JSON Merge Patch (RFC 7396): fields that are null are removed, objects are merged, " +
			"anything else is replaced.",
	})
}

// stored defines the schema of a stored record. A record of a collection has an id, even if the
// rules do not require the id, because the URL of a record contains the id. The rules may also use
// the schema elsewhere, such as for a nested record without an id.
func (d *describer) stored(r *record) {
	if len(r.at) != 1 {
		var all [][]byte
		for _, pointer := range r.at {
			all = append(all, append(d.reference([]byte("{"), pointer), '}'))
		}
		if r.IDMember != "" {
			all = append(all, withRequired([]byte("{}"), r.IDMember))
		}
		d.define(r.Record, rawjson.AppendMember([]byte("{"), "allOf", append(array(all...), '}')))
		return
	}
	at := r.at[0]
	lacksID := r.IDMember != "" && !d.requires(at, r.IDMember)
	if d.names[at] != r.Record && !lacksID {
		d.define(r.Record, append(d.reference([]byte("{"), at), '}'))
		return
	}
	schema := d.copy(rawjson.At(d.rules, at), false)
	if d.names[at] != r.Record {
		schema = withRequired(schema, r.IDMember)
	}
	d.define(r.Record, schema)
}

// requires reports whether the schema at pointer requires a field.
func (d *describer) requires(pointer, name string) bool {
	return slices.Contains(required(rawjson.At(d.rules, pointer)), name)
}

func (d *describer) define(name string, schema []byte) {
	d.out.Definitions = append(d.out.Definitions, Definition{name, schema})
}

// name returns an unused name of a definition, made of words.
func (d *describer) name(words string) string {
	first := cmp.Or(Identifier(words), "Unnamed")
	if first[0] <= '9' {
		first = "N" + first
	}
	name := first
	for i := 2; d.taken[name]; i++ {
		name = first + strconv.Itoa(i)
	}
	d.taken[name] = true
	return name
}

// Identifier returns the ASCII letters and digits of a name, with each word capitalized, as in
// LineItems for line-items.
func Identifier(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(c rune) bool {
		return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
