package describe

import (
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// follow returns the pointer to the target if the schema at pointer is only a reference, otherwise
// pointer.
func (d *describer) follow(pointer string) string {
	for range 100 { // references may form a circle
		v := rawjson.At(d.rules, pointer)
		next, ok := d.target(rawjson.Get(v, "$ref"))
		if !ok || len(rawjson.MemberNames(v)) > 1 {
			break
		}
		pointer = next
	}
	return pointer
}

// target returns the pointer to the target of a "$ref". It reports false if the target is not in the
// rules.
func (d *describer) target(ref jsontext.Value) (pointer string, ok bool) {
	if ref.Kind() != '"' {
		return "", false
	}
	uri := rawjson.Unquote(ref)
	_, to, _ := strings.Cut(uri, "#")
	if s, err := url.PathUnescape(to); err == nil {
		to = s
	}
	if strings.Contains(uri, "://") || strings.HasPrefix(uri, "urn:") {
		return "", false
	}
	if to == "" || to[0] == '/' {
		return to, d.rules != nil
	}

	for at, tok := range rawjson.Tokens(d.rules) {
		for _, anchor := range []string{"/$anchor", "/$dynamicAnchor"} {
			if strings.HasSuffix(at, anchor) && tok.Kind() == '"' && tok.String() == to {
				return strings.TrimSuffix(at, anchor), true
			}
		}
	}
	return "", false
}

// parts returns the schemas that together describe a record: the schemas in the rules, and the
// schemas added by "$ref" and "allOf".
func (d *describer) parts(r *record) (all []jsontext.Value) {
	seen := make(map[string]bool) // references may form a circle
	var visit func(v jsontext.Value)
	visit = func(v jsontext.Value) {
		all = append(all, v)
		if to, ok := d.target(rawjson.Get(v, "$ref")); ok && !seen[to] {
			seen[to] = true
			visit(rawjson.At(d.rules, to))
		}
		for e := range rawjson.Elements(rawjson.Get(v, "allOf")) {
			visit(e)
		}
	}
	for _, pointer := range r.at {
		visit(rawjson.At(d.rules, pointer))
	}
	return all
}

// reference appends a "$ref" to the definition of the schema at pointer. It adds a missing
// definition. Each target has a definition, because few tools follow references into a part of
// another definition.
func (d *describer) reference(out []byte, pointer string) []byte {
	pointer = d.follow(pointer)
	if d.names[pointer] == "" {
		words := "Database"
		if t := rawjson.SplitPointer(pointer); len(t) > 0 {
			words = t[len(t)-1]
			if n := len(t); n > 1 && (rawjson.IsIndex(words) || words == "items") {
				words = t[n-2] + " " + words
			}
		}
		d.names[pointer] = d.name(words)
		d.queue = append(d.queue, pointer)
	}
	return rawjson.AppendText(out, "$ref", d.Prefix+d.names[pointer])
}

// literals are keywords with data, not with schemas.
var literals = []string{
	"enum", "const", "examples", "example", "default", "required", "dependentRequired",
	"x-alias", "x-historic", "x-required-on-create",
}

// tables are keywords with an object of schemas by name.
var tables = []string{"properties", "patternProperties", "dependentSchemas"}

// copy returns a schema as compact text, with references to definitions. If sent is set, it leaves
// out historic values, except in other definitions.
func (d *describer) copy(v jsontext.Value, sent bool) []byte {
	switch v.Kind() {
	case '[':
		var list [][]byte
		for e := range rawjson.Elements(v) {
			list = append(list, d.copy(e, sent))
		}
		return array(list...)
	case '{':
	case 0, 't': // few tools accept true
		return []byte("{}")
	case 'f':
		return []byte(`{"not":{}}`)
	default:
		return rawjson.Compact(v)
	}
	past := rawjson.Get(v, "x-historic")
	out := []byte("{")
	for keyword, e := range rawjson.Fields(v) {
		if keyword == "enum" && sent && past != nil {
			out = rawjson.AppendMember(out, keyword, except(e, past))
		} else if keyword != "x-historic" || !sent {
			out = d.appendKeyword(out, keyword, e, sent)
		}
	}
	return append(out, '}')
}

// except returns the array of the values that are not in others.
func except(values, others jsontext.Value) []byte {
	var left [][]byte
	for v := range rawjson.Elements(values) {
		same := func(o jsontext.Value) bool { return rawjson.Identity(o) == rawjson.Identity(v) }
		if !slices.ContainsFunc(slices.Collect(rawjson.Elements(others)), same) {
			left = append(left, rawjson.Compact(v))
		}
	}
	return array(left...)
}

// appendKeyword appends one keyword of a schema.
func (d *describer) appendKeyword(out []byte, keyword string, v jsontext.Value, sent bool) []byte {
	switch {
	case keyword == "$ref" || keyword == "$dynamicRef":
		if pointer, ok := d.target(v); ok {
			return d.reference(out, pointer)
		}
	case keyword == "$defs" || keyword == "definitions":
		return out // reference adds the needed definitions
	case keyword == "$id" || keyword == "$schema" || keyword == "$anchor" || keyword == "$dynamicAnchor":
		return out // would redirect or duplicate the targets of references
	case slices.Contains(literals, keyword):
	case slices.Contains(tables, keyword):
		table := []byte("{")
		for quoted, e := range rawjson.Members(v) {
			table = rawjson.AppendMember(table, rawjson.Unquote(quoted), d.copy(e, sent))
		}
		return rawjson.AppendMember(out, keyword, append(table, '}'))
	case v.Kind() == '{' || v.Kind() == '[':
		return rawjson.AppendMember(out, keyword, d.copy(v, sent))
	}
	return rawjson.AppendMember(out, keyword, rawjson.Compact(v))
}
