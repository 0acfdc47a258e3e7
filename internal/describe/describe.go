package describe

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// A Description says in JSON Schema what a database holds and what it takes:
// from its rules where there are some, else from the data. It is true of the
// snapshot that it was made from. What hand edits have put there against the
// rules is described too, because it is served.
type Description struct {
	// Dialect is the "$schema" that the rules name, "" where they name none.
	Dialect string

	// Definitions are schemas by name. Their references lead from one to
	// another, with the prefix that Describe was given.
	Definitions []Definition

	// Resources are what is served, in the order of the file.
	Resources []Resource
}

// A Definition is a schema that has a name: a letter, then letters and digits.
type Definition struct {
	Name   string
	Schema jsontext.Value // compact
}

// A Resource is a collection or a singular resource. The schemas of its
// records, or of itself, are named; where two are the same they have one name.
type Resource struct {
	Name     string
	About    string // what the rules say that it is, "" where they do not
	Kind     storage.Kind
	Members  []string // of a record, that are known
	IDMember string   // of a collection
	Parents  []Parent // what a record refers to

	Record  string // what is stored, and served
	Part    string // what is shown of it with _fields, _embed and _expand; it has nothing required
	Answer  string // what a write is answered with, in the spelling of its body
	Create  string // what POST takes; "" of a singular resource
	Replace string // what PUT takes
	Merge   string // what PATCH takes
	Patch   string // what PATCH takes as a merge patch (RFC 7396)
}

// A Parent is a collection that the records of another refer to by its Id.
type Parent struct {
	Collection string
	Member     string // that carries the parent's id, such as driverId
	Create     string // the schema of what POST takes below a parent: it fills the member in
}

// Database returns the Description of a snapshot. References in it begin with
// prefix ("#/$defs/"), and no definition has one of the reserved names.
func Database(s *database.Snapshot, prefix string, reserved ...string) *Description {
	d := &describer{snap: s, prefix: prefix, at: make(map[passage]string), taken: make(map[string]bool), found: make(map[string]*inference)}
	for _, name := range reserved {
		d.taken[name] = true
	}
	if s.Schema() != nil {
		d.data = s.Schema().Text()
		v, _ := rawjson.Member(d.data, "$schema")
		if v.Kind() == '"' {
			d.out.Dialect = rawjson.Unquote(v)
		}
	}
	for _, name := range s.Names() {
		if kind, _ := s.Kind(name); kind != storage.Other {
			d.resource(name, kind)
		}
	}
	for i := range d.out.Resources {
		r := &d.out.Resources[i]
		r.Part = d.name(r.Record + " Part")
	}
	for i := range d.out.Resources {
		d.part(&d.out.Resources[i])
	}
	for len(d.queue) > 0 {
		p := d.queue[0]
		d.queue = d.queue[1:]
		d.sent = p.sent
		d.define(d.at[p], d.copied(rawjson.At(d.data, p.pointer)))
	}
	return &d.out
}

// A describer makes a Description.
type describer struct {
	snap   *database.Snapshot
	data   jsontext.Value // the schema's text; nil where there is none
	prefix string
	at     map[passage]string    // names of definitions, by what they define
	taken  map[string]bool       // names
	queue  []passage             // what has a name and is not yet defined
	sent   bool                  // what is copied is about bodies, which have no historic values
	found  map[string]*inference // of resources that no rule is about, or of what breaks their rules
	out    Description
}

// A passage is a place in a schema's text, as it is about what is stored or,
// where that is another, about what is sent.
type passage struct {
	pointer string
	sent    bool
}

func (d *describer) define(name string, schema []byte) {
	d.out.Definitions = append(d.out.Definitions, Definition{name, schema})
}

// name returns a name that is not taken, made of words.
func (d *describer) name(words string) string {
	var b strings.Builder
	begin := true
	for _, r := range words {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) || r > unicode.MaxASCII:
			begin = true
			continue
		case b.Len() == 0 && unicode.IsDigit(r):
			b.WriteString("N")
		case begin:
			r = unicode.ToUpper(r)
		}
		begin = false
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		b.WriteString("Unnamed")
	}
	name := b.String()
	for i := 2; d.taken[name]; i++ {
		name = b.String() + strconv.Itoa(i)
	}
	d.taken[name] = true
	return name
}

func (d *describer) refTo(name string) []byte {
	return append(rawjson.AppendMember([]byte("{"), "$ref", rawjson.AppendQuote(nil, d.prefix+name)), '}')
}

// resource describes one collection or singular resource.
func (d *describer) resource(name string, kind storage.Kind) {
	r := d.snap.Schema().Member(name)
	if r != nil && r.Array() != (kind == storage.Array) {
		r = nil // the rules are about something else than what is there
	}
	out := Resource{Name: name, Kind: kind}
	what := name
	if kind == storage.Array {
		what = database.Singular(name)
		out.IDMember = d.snap.IDMember(name)
	}
	out.Record = d.name(what)
	var pointers []string
	if r != nil {
		for _, at := range r.RecordLocations() {
			pointers = append(pointers, d.follow(at))
		}
	}
	if len(pointers) == 0 {
		d.free(&out)
	} else {
		d.ruled(r, pointers, &out)
	}
	if r != nil {
		about, _ := rawjson.Member(rawjson.At(d.data, r.Location()), "description")
		if about.Kind() == '"' {
			out.About = rawjson.Unquote(about)
		}
	}
	d.out.Resources = append(d.out.Resources, out)
}

// free describes what no rule is about: what is there, and that anything goes.
func (d *describer) free(out *Resource) {
	in, of := new(inference), inferring{snap: d.snap}
	if out.Kind == storage.Array {
		in, of.collection, of.id = inferenceOf(d.snap, out.Name), out.Name, out.IDMember
	} else {
		v, _ := d.snap.Value(out.Name)
		in.add(v)
	}
	d.found[out.Name] = in
	found := in.schema(of)
	d.define(out.Record, found)
	properties, _ := rawjson.Member(found, "properties")
	out.Members = rawjson.MemberNames(properties)
	out.Answer = out.Record
	out.Replace = d.name(out.Record + "Body")
	out.Merge, out.Patch = out.Replace, out.Replace
	body := []byte(`{"description":"Any object: no rules are kept here. The members that are known are those of the data.","type":"object"`)
	var hints []byte
	for quoted := range rawjson.Members(properties) {
		if rawjson.Unquote(quoted) != out.IDMember {
			hints = rawjson.AppendMember(hints, rawjson.Unquote(quoted), []byte("{}"))
		}
	}
	if hints != nil {
		body = append(append(append(body, `,"properties":{`...), hints...), '}')
	}
	d.define(out.Replace, append(body, '}'))
	if out.Kind == storage.Array {
		out.Create = out.Replace
		d.parents(out, func(Parent) string { return out.Create })
	}
}

// parents fills in what the records of out refer to. create returns the name of
// what POST takes below a parent.
func (d *describer) parents(out *Resource, create func(Parent) string) {
	for _, parent := range d.snap.Names() {
		p := Parent{Collection: parent, Member: d.snap.ForeignKey(out.Name, parent)}
		if kind, _ := d.snap.Kind(parent); kind == storage.Array && (slices.Contains(out.Members, p.Member) || d.snap.Occurs(out.Name, p.Member)) {
			p.Create = create(p)
			out.Parents = append(out.Parents, p)
		}
	}
}

// ruled describes what the rules r are about; pointers are their places.
func (d *describer) ruled(r *schema.Rules, pointers []string, out *Resource) {
	for _, p := range pointers {
		properties := rawjson.At(d.data, p+"/properties")
		for quoted := range rawjson.Members(properties) {
			out.Members = append(out.Members, rawjson.Unquote(quoted))
		}
	}
	for _, name := range r.Properties() {
		if !slices.Contains(out.Members, name) {
			out.Members = append(out.Members, name)
		}
	}
	rulesName := out.Record
	broken := d.broken(out, r, false)
	odd := d.byHand(broken)
	if odd != nil {
		d.found[out.Name] = broken
		rulesName = d.name(out.Record + "ByRules")
		byHand := d.name(out.Record + "ByHand")
		d.define(out.Record, d.oneOf(rulesName, byHand))
		d.define(byHand, odd)
	}
	if stored := (passage{pointers[0], false}); len(pointers) == 1 && d.at[stored] == "" {
		d.at[stored] = rulesName
		d.queue = append(d.queue, stored)
	} else {
		all := []byte("[")
		for _, p := range pointers {
			all = append(append(all, d.reference(p)...), ',')
		}
		all[len(all)-1] = ']'
		d.define(rulesName, append(rawjson.AppendMember([]byte("{"), "allOf", all), '}'))
	}

	body := func(suffix string, b bodyRules) string {
		name := d.name(out.Record + suffix)
		d.sent = b.alias == nil // else it is about an answer
		defer func() { d.sent = false }()
		var parts [][]byte
		for _, p := range pointers {
			parts = append(parts, d.body(rawjson.At(d.data, p), b, nil))
		}
		d.define(name, allOf(parts))
		return name
	}
	id := out.IDMember
	if out.Kind == storage.Array {
		b := bodyRules{optional: []string{id}, required: r.RequiredOnCreate()}
		if r.ReadOnlyID() {
			b.without = id
		}
		out.Create = body("Create", b)
		d.parents(out, func(p Parent) string {
			under := b
			under.optional = []string{id, p.Member}
			under.required = slices.DeleteFunc(slices.Clone(b.required), func(name string) bool { return name == p.Member })
			return body("CreateUnder "+database.Singular(p.Collection), under)
		})
	}
	out.Replace = body("Replace", bodyRules{optional: []string{id}})
	out.Merge = body("Merge", bodyRules{nothingRequired: true})
	out.Patch = d.name(out.Record + "MergePatch")
	d.define(out.Patch, d.mergePatch(r))
	out.Answer = out.Record
	if len(r.Aliases()) > 0 {
		var spelled []string
		for _, name := range r.Aliases() {
			spelled = append(spelled, name)
		}
		asSent := body("AsSent", bodyRules{optional: spelled, alias: r.Aliases()})
		out.Answer = d.name(out.Record + "Answer")
		names := []string{out.Record, asSent}
		if odd != nil {
			byHand := d.name(out.Record + "ByHandAsSent")
			d.define(byHand, d.byHand(d.broken(out, r, true)))
			names = append(names, byHand)
		}
		d.define(out.Answer, d.oneOf(names...))
	}
}

// oneOf returns the schema of what one at least of the definitions describes.
func (d *describer) oneOf(names ...string) []byte {
	list := []byte("[")
	for _, name := range names {
		list = append(append(list, d.refTo(name)...), ',')
	}
	list[len(list)-1] = ']'
	return append(rawjson.AppendMember([]byte("{"), "anyOf", list), '}')
}

// byHand returns a schema of values that break their rules, nil where there
// are none.
func (d *describer) byHand(in *inference) []byte {
	if in.n == 0 {
		return nil
	}
	out := in.schema(inferring{snap: d.snap})
	return append(rawjson.AppendMember(out[:len(out)-1], "description", rawjson.AppendQuote(nil, "What hand edits have put there against the rules. It is served as it is.")), '}')
}

// broken returns what is known of those values of a collection or object that
// break its rules; with asSent of these and of the same under all the names
// that a request may have used.
func (d *describer) broken(out *Resource, r *schema.Rules, asSent bool) *inference {
	in := new(inference)
	judge := func(v jsontext.Value) {
		if !r.Broken(v) {
			return
		}
		in.add(v)
		for spelled, name := range r.Aliases() {
			if e, ok := rawjson.Member(v, name); ok && asSent {
				in.add(append(rawjson.AppendMember([]byte("{"), spelled, e), '}')) // none of the others is required then
			}
		}
	}
	if out.Kind == storage.Array {
		for record := range d.snap.All(out.Name) {
			judge(record.Value)
		}
	} else {
		v, _ := d.snap.Value(out.Name)
		judge(v)
	}
	return in
}

// allOf returns the schema of what all the schemas describe.
func allOf(schemas [][]byte) []byte {
	if len(schemas) == 1 {
		return schemas[0]
	}
	all := []byte("[")
	for _, s := range schemas {
		all = append(append(all, s...), ',')
	}
	all[len(all)-1] = ']'
	return append(rawjson.AppendMember([]byte("{"), "allOf", all), '}')
}
