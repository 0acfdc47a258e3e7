package describe

import (
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// InferSchema returns a first rules file for a database: types, the required fields, formats, enums
// of few values, and references by the names of fields (driverId to drivers). The contents of the
// database conform to the rules, apart from dangling references.
func InferSchema(snap *database.Snapshot) []byte {
	properties, definitions := []byte(`{"$schema":{"type":"string"}`), []byte("{")
	for _, name := range snap.Names() {
		f := inferring{snap: snap, rules: true}
		kind, _ := snap.Kind(name)
		switch {
		case name == "$schema":
		case kind != storage.Array:
			properties = rawjson.AppendMember(properties, name, inferenceOf(snap, name, true).schema(f))
		default:
			f.collection = name
			f.id = snap.IDMember(name)
			record := spell.Singular(name)
			for rawjson.MemberAt(definitions, 0, record) >= 0 {
				record += "_"
			}
			token := url.PathEscape(rawjson.Pointer(record)[1:]) // RFC 6901, section 6
			items := []byte(`{"type":"array","items":{"$ref":"#/$defs/` + token + `"}}`)
			properties = rawjson.AppendMember(properties, name, items)
			definitions = rawjson.AppendMember(definitions, record, inferenceOf(snap, name, true).schema(f))
		}
	}
	out := []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema",` +
		`"description":"Rules inferred from the contents of this database. Editors use them for completion, ` +
		`pickup checks every write. Edit them as needed.","type":"object"`)
	out = rawjson.AppendMember(out, "properties", append(properties, '}'))
	if len(definitions) > 1 {
		out = rawjson.AppendMember(out, "$defs", append(definitions, '}'))
	}
	return append(appendIndented(nil, append(out, '}'), 0), '\n')
}

// inferenceOf returns the inference from the records of a collection, or from the value of another
// field. The inference is for a rules file or, without the contents of strings, for a description.
// Each block of records caches the inference from the block until a record changes.
func inferenceOf(snap *database.Snapshot, name string, rules bool) *inference {
	in := &inference{rules: rules}
	if kind, _ := snap.Kind(name); kind != storage.Array {
		v, _ := snap.Value(name)
		in.add(v, 0)
		return in
	}
	for memo, records := range snap.Blocks(name) {
		var part *inference
		if kept := memo.Load(); kept != nil {
			part = (*kept).(*inference)
		}
		if part == nil || rules && !part.rules {
			part = &inference{rules: rules}
			for r := range records {
				part.add(r.Value, 0)
			}
			memo.Store(new(any(part)))
		}
		in.join(part)
	}
	if in.n == 0 {
		in.kinds[indexOf('{')] = 1 // records are objects
	}
	return in
}

// An inference describes the values of a field.
type inference struct {
	rules    bool // for a rules file
	n        int
	kinds    [len(kinds)]int // by the index of the kind
	integers int
	first    jsontext.Value // the first string or number
	words    []string       // the different strings in order of appearance; nil: no enum
	formats  []string       // of all strings
	members  map[string]*inference
	names    []string // of fields in order of appearance
	items    *inference
}

const (
	maxLevels = 32 // of nesting; deeper values are ignored
	maxWords  = 10 // of an enum

	kinds = `{["0fn` // of values; f: true or false
)

func indexOf(kind byte) int { return strings.IndexByte(kinds, kind) }

// count returns the number of values of a kind.
func (in *inference) count(kind byte) int { return in.kinds[indexOf(kind)] }

// join adds the later values of another inference.
func (in *inference) join(o *inference) {
	if in.rules {
		in.joinStrings(o)
	}
	in.n += o.n
	in.integers += o.integers
	for i, n := range o.kinds {
		in.kinds[i] += n
	}
	for _, name := range o.names {
		in.member(name).join(o.members[name])
	}
	if o.items != nil {
		if in.items == nil {
			in.items = &inference{rules: in.rules}
		}
		in.items.join(o.items)
	}
}

// joinStrings adds the later strings of another inference.
func (in *inference) joinStrings(o *inference) {
	if in.first == nil {
		in.first = o.first
	}
	switch {
	case o.count('"') == 0:
	case in.count('"') == 0:
		in.formats = o.formats
		in.words = slices.Clone(o.words)
	default:
		in.formats = slices.DeleteFunc(slices.Clone(in.formats), func(f string) bool {
			return !slices.Contains(o.formats, f)
		})
		in.addWords(o.words)
	}
}

// addWords adds different strings; nil: no enum.
func (in *inference) addWords(words []string) {
	for _, w := range words {
		if in.words != nil && !slices.Contains(in.words, w) {
			in.words = append(in.words, w)
		}
	}
	if words == nil || len(in.words) > maxWords {
		in.words = nil
	}
}

// member returns the inference of a field. It adds a missing field.
func (in *inference) member(name string) *inference {
	m := in.members[name]
	if m == nil {
		if in.members == nil {
			in.members = make(map[string]*inference)
		}
		m = &inference{rules: in.rules}
		in.members[name] = m
		in.names = append(in.names, name)
	}
	return m
}

// add adds a value at a level of nesting.
func (in *inference) add(v jsontext.Value, level int) {
	kind := byte(v.Kind())
	if kind == 't' {
		kind = 'f'
	}
	in.n++
	in.kinds[indexOf(kind)]++
	switch kind {
	case '0':
		if in.first == nil && in.rules {
			in.first = v
		}
		if !strings.ContainsAny(string(v), ".eE") {
			in.integers++
		}
	case '"':
		if in.rules {
			in.addString(v)
		}
	case '{':
		if level == maxLevels {
			return
		}
		for quoted, e := range rawjson.Members(v) {
			in.member(rawjson.Unquote(quoted)).add(e, level+1)
		}
	case '[':
		if level == maxLevels {
			return
		}
		if in.items == nil {
			in.items = &inference{rules: in.rules}
		}
		for e := range rawjson.Elements(v) {
			in.items.add(e, level+1)
		}
	}
}

func (in *inference) addString(v jsontext.Value) {
	if in.count('"') == 1 {
		in.formats = schema.InferableFormats
		in.words = []string{}
		if in.first == nil {
			in.first = v
		}
	}
	if len(in.formats) == 0 && in.words == nil {
		return
	}
	s := rawjson.Unquote(v)
	in.formats = schema.FormatsOf(s, in.formats)
	if s != "" && len(s) <= 40 && !strings.ContainsAny(s, " \t\n@/") { // a single word
		in.addWords([]string{s})
	} else {
		in.words = nil
	}
}

// inferring is the context of an inference. The zero value is for a description of the data.
type inferring struct {
	snap       *database.Snapshot
	rules      bool   // the schema is for a rules file
	collection string // if the values are the records of a collection
	id         string // the field with the id of the records
}

// schema returns the inferred schema, compact.
func (in *inference) schema(f inferring) []byte {
	out := []byte(`{`)
	if types := in.types(f.rules); types != nil {
		out = rawjson.AppendMember(out, "type", types)
	}
	if f.collection != "" {
		if f.id != schema.DefaultIDMember {
			out = rawjson.AppendText(out, "x-id-field", f.id)
		}
		if kind := f.snap.IDKind(f.collection); kind != "" && kind != schema.AutoIDs {
			out = rawjson.AppendText(out, "x-id", string(kind))
		}
	}
	if in.count('"') > 0 && in.count('"')+in.count('n') == in.n && f.rules {
		out = in.appendStringRules(out)
	}
	if in.count('{') > 0 {
		out = in.appendMembers(out, f)
	}
	if in.items != nil && in.items.n > 0 {
		f.collection = ""
		out = rawjson.AppendMember(out, "items", in.items.schema(f))
	} else if in.items != nil && !f.rules {
		out = rawjson.AppendMember(out, "items", []byte("{}")) // linters ask for it
	}
	return append(out, '}')
}

// types returns the value of "type"; nil: unknown. Rules must not restrict a field to null.
func (in *inference) types(rules bool) []byte {
	number := "number"
	if in.integers == in.count('0') {
		number = "integer"
	}
	var names []string
	for _, t := range []struct {
		kind byte
		name string
	}{{'{', "object"}, {'[', "array"}, {'"', "string"}, {'0', number}, {'f', "boolean"}, {'n', "null"}} {
		if in.count(t.kind) > 0 {
			names = append(names, t.name)
		}
	}
	if len(names) == 0 || len(names) == 1 && names[0] == "null" && rules {
		return nil
	}
	if len(names) == 1 {
		return rawjson.AppendQuote(nil, names[0])
	}
	return array(quote(names)...)
}

// appendStringRules appends the common format of the strings, or an enum if the strings are a few
// single words and each word occurs twice on average. Without an enum, appendStringRules appends
// one string as an example.
func (in *inference) appendStringRules(out []byte) []byte {
	if len(in.formats) > 0 {
		out = rawjson.AppendText(out, "format", in.formats[0])
	} else if n := in.count('"'); n >= enough && len(in.words) >= 2 && 2*len(in.words) <= n+1 {
		values := quote(in.words)
		if in.count('n') > 0 {
			values = append(values, []byte("null"))
		}
		return rawjson.AppendMember(out, "enum", array(values...))
	}
	if len(in.first) <= 80 {
		out = rawjson.AppendMember(out, "examples", array(in.first))
	}
	return out
}

// enough is the minimum number of values for inferring more than types.
const enough = 5

// appendMembers appends "required" and "properties". If there are few objects, only the id of a
// record is required.
func (in *inference) appendMembers(out []byte, f inferring) []byte {
	var required []string
	properties := []byte("{")
	for _, name := range in.names {
		m := in.members[name]
		if n := in.count('{'); m.n == n && (n >= enough || f.collection != "" && name == f.id) {
			required = append(required, name)
		}
		properties = rawjson.AppendMember(properties, name, m.memberSchema(name, f))
	}
	if required != nil && f.rules {
		out = rawjson.AppendMember(out, "required", array(quote(required)...))
	}
	if len(properties) > 1 {
		out = rawjson.AppendMember(out, "properties", append(properties, '}'))
	}
	return out
}

// memberSchema returns the schema of a field. Fields with ids, of the record or of another
// collection, are never an enum.
func (in *inference) memberSchema(name string, f inferring) []byte {
	record := f
	f.collection = ""
	if record.collection == "" {
		return in.schema(f)
	}
	isID := name == record.id
	parent := parentOf(f.snap, name)
	if isID || parent != "" {
		f.rules = false
	}
	out := in.schema(f)
	if kind := f.snap.IDKind(record.collection); isID && kind != "" && kind != schema.AutoIDs {
		out = []byte(`{"type":["string","number"]}`) // new ids may be of another type
	}
	if parent != "" {
		ref := rawjson.AppendQuote(nil, parent)
		if record.rules && allExist(f.snap, record.collection, name, parent) {
			ref = append(rawjson.AppendMember([]byte{'{'}, "collection", ref), `,"must-exist":true}`...)
		}
		out = append(rawjson.AppendMember(out[:len(out)-1], "x-ref", ref), '}')
	}
	return out
}

// allExist reports whether each id in a field of a collection is the id of a record of parent.
func allExist(snap *database.Snapshot, collection, member, parent string) bool {
	for r := range snap.All(collection) {
		v := rawjson.Get(r.Value, member)
		for _, e := range append(slices.Collect(rawjson.Elements(v)), v) {
			if id, ok := rawjson.Text(e); ok {
				if _, err := snap.Get(parent, id); err != nil {
					return false
				}
			}
		}
	}
	return true
}

// parentOf returns the collection that a field of that name refers to, or "". The names for drivers
// are driverId, driverID, driver_id and, for lists, driverIds and so on.
func parentOf(snap *database.Snapshot, member string) string {
	for _, ending := range []string{"Id", "ID", "_id", "Ids", "IDs", "_ids"} {
		head, ok := strings.CutSuffix(member, ending)
		if !ok || head == "" {
			continue
		}
		for _, name := range snap.Names() {
			if kind, _ := snap.Kind(name); kind == storage.Array && spell.Singular(name) == head {
				return name
			}
		}
	}
	return ""
}
