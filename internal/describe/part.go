package describe

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// part defines what is shown of a resource with _fields, _embed and _expand:
// any of its members, and of those that are objects or arrays any part, beside
// what is put into it. What is whole is described by it too.
func (d *describer) part(out *Resource) {
	related := d.related(out)
	var parts [][]byte
	if r := d.snap.Schema().Member(out.Name); r != nil && r.Array() == (out.Kind == storage.Array) && len(r.RecordLocations()) > 0 {
		parts = append(parts, d.ruledPart(r, related))
	}
	if in := d.found[out.Name]; in != nil {
		parts = append(parts, in.part(related))
	}
	about := "Parts of a record (_fields), with the related records that were asked for (_embed, _expand)."
	if out.Kind != storage.Array {
		about = "Parts of the object (_fields), with the related records that were asked for (_embed, _expand)."
	}
	schema := parts[0]
	if len(parts) > 1 {
		schema = append(rawjson.AppendMember([]byte("{"), "anyOf", slices.Concat([]byte("["), parts[0], []byte(","), parts[1], []byte("]"))), '}')
	}
	d.define(out.Part, append(rawjson.AppendMember(schema[:len(schema)-1], "description", rawjson.AppendQuote(nil, about)), '}'))
}

// related returns the schemas of what _embed and _expand put into a record.
// Nothing is said of what meets a member of the same name.
func (d *describer) related(out *Resource) *memberSchemas {
	var list memberSchemas
	add := func(name string, children bool) {
		one, ok := d.snap.Relation(out.Name, name, true)
		other, _ := d.snap.Relation(out.Name, name, false)
		switch {
		case !ok || one.Children != children || list.has(name):
			return
		case other.Children != children, slices.Contains(out.Members, name), d.found[out.Name] != nil && d.found[out.Name].members[name] != nil:
			list.add(name, []byte("{}"))
			return
		}
		var names []string
		for _, r := range d.out.Resources {
			if r.Kind == storage.Array && slices.Contains(one.In, r.Name) {
				names = append(names, r.Part)
			}
		}
		if len(names) == 0 {
			return
		}
		schema := d.refTo(names[0])
		if len(names) > 1 {
			schema = d.oneOf(names...)
		}
		if children {
			schema = append(rawjson.AppendMember([]byte(`{"type":"array"`), "items", schema), '}')
		}
		list.add(name, schema)
	}
	for _, r := range d.out.Resources {
		if out.Kind == storage.Array && slices.ContainsFunc(r.Parents, func(p Parent) bool { return p.Collection == out.Name }) {
			add(r.Name, true)
		}
	}
	for _, name := range out.Members {
		if parent, ok := strings.CutSuffix(name, "Id"); ok && parent != "" {
			add(parent, false)
		}
	}
	return &list
}

// ruledPart returns the schema of a part of what the rules describe. A member
// that is neither object nor array is whole or not there.
func (d *describer) ruledPart(r *schema.Rules, related *memberSchemas) []byte {
	return d.anyOfMembers(r, related, d.copied)
}

// mergePatch returns the schema of a merge patch of what the rules describe:
// any of its members, or null, which removes it. Nothing is said of those that
// may be objects, because a part of one is enough.
func (d *describer) mergePatch(r *schema.Rules) []byte {
	d.sent = true
	defer func() { d.sent = false }()
	out := d.anyOfMembers(r, &memberSchemas{}, func(v jsontext.Value) []byte {
		types, _ := rawjson.Member(v, "type")
		if _, few := rawjson.Member(v, "enum"); !few && bytes.Contains(types, []byte(`"null"`)) {
			return d.copied(v) // null is said already
		}
		return append(append([]byte(`{"anyOf":[`), d.copied(v)...), `,{"type":"null"}]}`...)
	})
	return append(rawjson.AppendMember(out[:len(out)-1], "description", rawjson.AppendQuote(nil, "A JSON Merge Patch (RFC 7396): members that are null are removed, objects are merged, anything else is replaced.")), '}')
}

// anyOfMembers returns the schema of an object with any of the members that
// the rules know and of those that are given. scalar returns the schema of a
// member that is neither object nor array.
func (d *describer) anyOfMembers(r *schema.Rules, given *memberSchemas, scalar func(jsontext.Value) []byte) []byte {
	out := []byte("{")
	list := memberSchemas{names: slices.Clone(given.names), text: slices.Clone(given.text)}
	always := r.Parts()
	if slices.ContainsFunc(always, func(s *jsonschema.Schema) bool { return typesOnly(s, "object") }) {
		out = rawjson.AppendMember(out, "type", []byte(`"object"`))
	}
	for _, part := range always {
		for quoted, v := range rawjson.Members(rawjson.At(d.data, schema.Fragment(part.Location)+"/properties")) {
			name := rawjson.Unquote(quoted)
			if list.has(name) {
				continue
			}
			rules := []byte("{}")
			if slices.ContainsFunc(schema.Gather([]*jsonschema.Schema{part.Properties[name]}, false), isScalar) {
				rules = scalar(v)
			}
			list.add(name, rules)
		}
	}
	return list.object(out)
}

// part returns the schema of a part of the values.
func (in *inference) part(related *memberSchemas) []byte {
	out := []byte("{")
	if types := in.types(false); types != nil {
		out = rawjson.AppendMember(out, "type", types)
	}
	list := memberSchemas{names: slices.Clone(related.names), text: slices.Clone(related.text)}
	for _, name := range in.names {
		if list.has(name) {
			continue
		}
		schema := []byte("{")
		if types := in.members[name].types(false); types != nil {
			schema = rawjson.AppendMember(schema, "type", types)
		}
		list.add(name, append(schema, '}'))
	}
	return list.object(out)
}

// isScalar reports whether a schema allows neither objects nor arrays.
func isScalar(s *jsonschema.Schema) bool {
	return s.Types != nil && !slices.Contains(s.Types.ToStrings(), "object") && !slices.Contains(s.Types.ToStrings(), "array")
}

func typesOnly(s *jsonschema.Schema, name string) bool {
	return s.Types != nil && slices.Equal(s.Types.ToStrings(), []string{name})
}

// memberSchemas are the value of "properties" as it is being written.
type memberSchemas struct {
	names []string
	text  []byte // of the members, without the braces
}

func (l *memberSchemas) has(name string) bool { return slices.Contains(l.names, name) }

func (l *memberSchemas) add(name string, schema []byte) {
	l.names = append(l.names, name)
	l.text = rawjson.AppendMember(l.text, name, schema)
}

// object returns the schema that out is the beginning of.
func (l *memberSchemas) object(out []byte) []byte {
	if l.text != nil {
		out = rawjson.AppendMember(out, "properties", append(append([]byte("{"), l.text...), '}'))
	}
	return append(out, '}')
}
