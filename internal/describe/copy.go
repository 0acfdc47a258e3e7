package describe

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
)

// The functions of this file copy parts of a schema's text to where they are
// definitions of their own: references that lead through the file are changed
// to lead from one definition to another.

// follow returns the place that a schema at pointer means: where it is nothing
// but a reference, what that leads to.
func (d *describer) follow(pointer string) string {
	for range 100 { // a reference may lead to itself
		v := rawjson.At(d.data, pointer)
		ref, ok := rawjson.Member(v, "$ref")
		next, local := d.target(ref)
		if !ok || !local || len(rawjson.MemberNames(v)) > 1 {
			break
		}
		pointer = next
	}
	return pointer
}

// target returns the place in the file that a "$ref" leads to. It reports
// false where that is no place in it.
func (d *describer) target(ref jsontext.Value) (pointer string, ok bool) {
	if ref.Kind() != '"' {
		return "", false
	}
	uri := rawjson.Unquote(ref)
	to := schema.Fragment(uri)
	switch {
	case strings.Contains(uri, "://"), strings.HasPrefix(uri, "urn:"):
		return "", false
	case to == "" || to[0] == '/':
		return to, d.data != nil
	}
	for at, tok := range rawjson.Tokens(d.data) {
		for _, anchor := range []string{"/$anchor", "/$dynamicAnchor"} {
			if strings.HasSuffix(at, anchor) && tok.Kind() == '"' && tok.String() == to {
				return strings.TrimSuffix(at, anchor), true
			}
		}
	}
	return "", false
}

// reference returns a schema that refers to the definition of what stands at
// pointer. Where it has none yet it gets one: no reference leads into another
// definition, because few tools could follow it.
func (d *describer) reference(pointer string) []byte {
	pointer = d.follow(pointer)
	p := passage{pointer, d.sent && d.historic(pointer, make(map[string]bool))}
	if name := d.at[p]; name != "" {
		return d.refTo(name)
	}
	words := "Database"
	if t := rawjson.SplitPointer(pointer); len(t) > 0 {
		words = t[len(t)-1]
		if n := len(t); n > 1 && rawjson.IsIndex(words) || words == "items" && n > 1 {
			words = t[n-2] + " " + words
		}
	}
	if p.sent {
		words += " Sent"
	}
	name := d.name(words)
	d.at[p] = name
	d.queue = append(d.queue, p)
	return d.refTo(name)
}

// historic reports whether x-historic stands in what is at pointer, or in what
// that refers to; seen are the places that were looked at.
func (d *describer) historic(pointer string, seen map[string]bool) bool {
	if seen[pointer] {
		return false
	}
	seen[pointer] = true
	v := rawjson.At(d.data, pointer)
	for at := range rawjson.Tokens(v) {
		switch at[strings.LastIndexByte(at, '/')+1:] {
		case "x-historic":
			return true
		case "$ref", "$dynamicRef":
			if to, ok := d.target(rawjson.At(v, at)); ok && d.historic(to, seen) {
				return true
			}
		}
	}
	return false
}

// literals are keywords whose values are data, not schemas.
var literals = []string{"enum", "const", "examples", "example", "default", "required", "dependentRequired", "x-alias", "x-historic", "x-required-on-create"}

// tables are keywords whose values have a schema under each name.
var tables = []string{"properties", "patternProperties", "dependentSchemas"}

// copied returns the compact text of a schema with its references changed.
func (d *describer) copied(v jsontext.Value) []byte {
	switch v.Kind() {
	case '[':
		out := []byte("[")
		for e := range rawjson.Elements(v) {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, d.copied(e)...)
		}
		return append(out, ']')
	case '{':
	case 0:
		return []byte("{}") // there is no such place: never, of a schema that compiles
	case 't': // few tools take true and false for schemas
		return []byte("{}")
	case 'f':
		return []byte(`{"not":{}}`)
	default:
		return rawjson.Compact(v)
	}
	past, _ := rawjson.Member(v, "x-historic")
	out := []byte("{")
	for quoted, e := range rawjson.Members(v) {
		switch keyword := rawjson.Unquote(quoted); {
		case keyword == "enum" && d.sent && past != nil:
			out = rawjson.AppendMember(out, keyword, except(e, past))
		case keyword != "x-historic" || !d.sent:
			out = d.appendKeyword(out, keyword, e)
		}
	}
	return append(out, '}')
}

// except returns the compact text of the values of one array that another has
// not.
func except(values, others jsontext.Value) []byte {
	out := []byte("[")
	for v := range rawjson.Elements(values) {
		has := false
		for o := range rawjson.Elements(others) {
			has = has || rawjson.Identity(rawjson.Compact(o)) == rawjson.Identity(rawjson.Compact(v))
		}
		if !has {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, rawjson.Compact(v)...)
		}
	}
	return append(out, ']')
}

// appendKeyword appends one keyword of a schema.
func (d *describer) appendKeyword(out []byte, keyword string, v jsontext.Value) []byte {
	switch {
	case keyword == "$ref" || keyword == "$dynamicRef":
		if pointer, ok := d.target(v); ok {
			ref, _ := rawjson.Member(d.reference(pointer), "$ref")
			return rawjson.AppendMember(out, "$ref", ref)
		}
	case keyword == "$defs" || keyword == "definitions":
		return out // each is a definition of its own where it is needed
	case keyword == "$id" || keyword == "$schema" || keyword == "$anchor" || keyword == "$dynamicAnchor":
		return out // they would move or double what the references lead to
	case slices.Contains(literals, keyword):
	case slices.Contains(tables, keyword):
		table := []byte("{")
		for quoted, e := range rawjson.Members(v) {
			table = rawjson.AppendMember(table, rawjson.Unquote(quoted), d.copied(e))
		}
		return rawjson.AppendMember(out, keyword, append(table, '}'))
	case v.Kind() == '{' || v.Kind() == '[':
		return rawjson.AppendMember(out, keyword, d.copied(v))
	}
	return rawjson.AppendMember(out, keyword, rawjson.Compact(v))
}

// bodyRules say how a body differs from what is stored.
type bodyRules struct {
	optional        []string          // members that a body need not have
	required        []string          // members that it needs beside
	without         string            // the member that it has not; "" is none
	nothingRequired bool              // it has what is to be changed alone
	alias           map[string]string // other names of members, which it may have
}

// body returns the compact text of the schema v as that of a body. What it
// refers to about the same value is put in its place, because that may say
// what is required too; seen are the places that it was put from.
func (d *describer) body(v jsontext.Value, b bodyRules, seen []string) []byte {
	if v.Kind() != '{' {
		return d.copied(v)
	}
	out := []byte("{")
	var inlined [][]byte
	required := slices.Clone(b.required)
	inner := b
	inner.required = nil // it is said once, here
	for quoted, e := range rawjson.Members(v) {
		switch keyword := rawjson.Unquote(quoted); keyword {
		case "$ref", "$dynamicRef":
			if pointer, ok := d.target(e); ok && !slices.Contains(seen, pointer) {
				inlined = append(inlined, d.body(rawjson.At(d.data, pointer), inner, append(seen, pointer)))
				continue
			}
			out = d.appendKeyword(out, keyword, e)
		case "allOf", "anyOf", "oneOf":
			list := []byte("[")
			for branch := range rawjson.Elements(e) {
				list = append(append(list, d.body(branch, inner, seen)...), ',')
			}
			list[len(list)-1] = ']'
			out = rawjson.AppendMember(out, keyword, list)
		case "then", "else":
			out = rawjson.AppendMember(out, keyword, d.body(e, inner, seen))
		case "required":
			for name := range rawjson.Elements(e) {
				if s := rawjson.Unquote(name); !slices.Contains(b.optional, s) && !slices.Contains(required, s) {
					required = append(required, s)
				}
			}
		case "dependentRequired", "minProperties":
			if !b.nothingRequired {
				out = d.appendKeyword(out, keyword, e)
			}
		case "x-required-on-create", "x-id", "x-id-field": // they speak of records
		case "properties":
			out = rawjson.AppendMember(out, keyword, d.bodyProperties(e, b))
		default:
			out = d.appendKeyword(out, keyword, e)
		}
	}
	if len(required) > 0 && !b.nothingRequired {
		list := []byte("[")
		for _, name := range required {
			list = append(rawjson.AppendQuote(list, name), ',')
		}
		list[len(list)-1] = ']'
		out = rawjson.AppendMember(out, "required", list)
	}
	out = append(out, '}')
	if len(inlined) == 0 {
		return out
	}
	if len(out) > 2 {
		inlined = append(inlined, out)
	}
	return allOf(inlined)
}

// bodyProperties returns the compact text of "properties" for a body.
func (d *describer) bodyProperties(v jsontext.Value, b bodyRules) []byte {
	out := []byte("{")
	for quoted, e := range rawjson.Members(v) {
		name := rawjson.Unquote(quoted)
		if name == b.without {
			continue
		}
		rules := d.copied(e)
		out = rawjson.AppendMember(out, name, rules)
		for _, spelled := range schema.AliasesOf(name, b.alias) {
			out = rawjson.AppendMember(out, spelled, rules)
		}
	}
	return append(out, '}')
}
