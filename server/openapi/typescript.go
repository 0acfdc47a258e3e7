package openapi

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/describe"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

const typesHead = `// Types of the records and bodies of pickup, from its current data and rules.
// The names are those of the OpenAPI document, /_/openapi.json.

`

// TypeScript returns the TypeScript declarations for a snapshot.
func TypeScript(snap *database.Snapshot) []byte {
	about := describe.Database(snap, describe.Options{Prefix: typeReference, Reserved: []string{"Database", "Problem", "Page"}})
	w := new(typeWriter)
	w.WriteString(typesHead)
	for _, d := range about.Definitions {
		w.declare(d.Name, d.Schema)
	}
	w.WriteString("/** The whole database. */\nexport type Database = {\n")
	for _, r := range about.Resources {
		t := r.Record
		if r.Kind == storage.Array {
			t += "[]"
		}
		w.WriteString("  " + string(rawjson.AppendQuote(nil, r.Name)) + ": " + t + ";\n")
	}
	w.WriteString("  [name: string]: unknown;\n};\n\n")
	w.WriteString(pageType)
	w.declare("Problem", member(member(fixedComponents, "schemas"), "Problem"))
	return bytes.TrimSuffix(w.Bytes(), []byte("\n"))
}

const pageType = `/** A page of a list: the answer with _page and _per_page. */
export type Page<T> = {
  first: number;
  prev: number | null;
  next: number | null;
  last: number;
  pages: number;
  items: number;
  data: T[];
};

`

const typeReference = "#/"

// A typeWriter writes JSON Schemas as TypeScript types.
type typeWriter struct{ bytes.Buffer }

// declare writes the type of a schema.
func (w *typeWriter) declare(name string, schema jsontext.Value) {
	w.comment(schema, "")
	w.WriteString("export type " + name + " = " + w.typeOf(schema, "") + ";\n\n")
}

// comment writes the description of a schema as a doc comment.
func (w *typeWriter) comment(schema jsontext.Value, indent string) {
	if s := stringOf(member(schema, "description")); s != "" {
		s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "*/", "*\u200b/") // the end of the comment otherwise
		w.WriteString(indent + "/** " + s + " */\n")
	}
}

// typeOf returns the type of the values that a schema describes.
func (w *typeWriter) typeOf(schema jsontext.Value, indent string) string {
	switch schema.Kind() {
	case 'f':
		return "never"
	case '{':
	default:
		return "unknown"
	}
	if string(member(schema, "not")) == "{}" {
		return "never"
	}
	var all []string // the type is their intersection
	for quoted, v := range rawjson.Members(schema) {
		keyword := rawjson.Unquote(quoted)
		switch keyword {
		case "$ref":
			if name, ok := strings.CutPrefix(stringOf(v), typeReference); ok {
				all = append(all, name)
			}
		case "enum":
			all = append(all, w.union(v, literalType))
		case "const":
			all = append(all, literalType(v))
		case "anyOf", "oneOf":
			all = append(all, w.union(v, func(e jsontext.Value) string { return w.typeOf(e, indent) }))
		case "allOf":
			for e := range rawjson.Elements(v) {
				all = append(all, w.typeOf(e, indent))
			}
		}
	}
	own := w.ownType(schema, indent)
	if own != "" && member(schema, "enum") == nil && member(schema, "const") == nil {
		all = append(all, own)
	}
	all = slices.DeleteFunc(all, func(t string) bool { return t == "unknown" })
	switch len(all) {
	case 0:
		return "unknown"
	case 1:
		return all[0]
	}
	for i, t := range all {
		all[i] = grouped(t)
	}
	return strings.Join(all, " & ")
}

// grouped puts a union or an intersection into parentheses.
func grouped(t string) string {
	if strings.Contains(t, " | ") || strings.Contains(t, " & ") {
		return "(" + t + ")"
	}
	return t
}

func (w *typeWriter) union(branches jsontext.Value, typeOf func(jsontext.Value) string) string {
	var types []string
	for e := range rawjson.Elements(branches) {
		if t := typeOf(e); !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	if slices.Contains(types, "unknown") {
		return "unknown" // "unknown | T" is unknown
	}
	return strings.Join(types, " | ")
}

// ownType returns the type by "type", "properties" and "items", or "".
func (w *typeWriter) ownType(schema jsontext.Value, indent string) string {
	var types []string
	switch v := member(schema, "type"); v.Kind() {
	case '"':
		types = []string{stringOf(v)}
	case '[':
		for e := range rawjson.Elements(v) {
			types = append(types, stringOf(e))
		}
	default:
		switch {
		case member(schema, "properties") != nil || member(schema, "required") != nil:
			types = []string{"object"}
		case member(schema, "items") != nil:
			types = []string{"array"}
		}
	}
	var union []string
	for _, t := range types {
		switch t {
		case "integer":
			t = "number"
		case "array":
			t = w.arrayType(schema, indent)
		case "object":
			t = w.objectType(schema, indent)
		}
		if !slices.Contains(union, t) {
			union = append(union, t)
		}
	}
	return strings.Join(union, " | ")
}

func (w *typeWriter) arrayType(schema jsontext.Value, indent string) string {
	items := member(schema, "items")
	if items == nil || items.Kind() == '[' || member(schema, "prefixItems") != nil {
		return "unknown[]"
	}
	return grouped(w.typeOf(items, indent)) + "[]"
}

// objectType returns the type of an object. Other members are allowed unless
// the schema excludes them.
func (w *typeWriter) objectType(schema jsontext.Value, indent string) string {
	var required []string
	for e := range rawjson.Elements(member(schema, "required")) {
		required = append(required, stringOf(e))
	}
	inner := new(typeWriter)
	inner.WriteString("{\n")
	known := 0
	for quoted, s := range rawjson.Members(member(schema, "properties")) {
		name := rawjson.Unquote(quoted)
		known++
		inner.comment(s, indent+"  ")
		mark := "?"
		if i := slices.Index(required, name); i >= 0 {
			mark, required = "", slices.Delete(required, i, i+1)
		}
		inner.WriteString(indent + "  " + string(rawjson.AppendQuote(nil, name)) + mark + ": " + inner.typeOf(s, indent+"  ") + ";\n")
	}
	for _, name := range required {
		inner.WriteString(indent + "  " + string(rawjson.AppendQuote(nil, name)) + ": unknown;\n")
	}
	switch rest := member(schema, "additionalProperties"); {
	case rest.Kind() == '{' && known+len(required) == 0:
		return "{ [name: string]: " + w.typeOf(rest, indent) + " }"
	case rest.Kind() == 'f' && known+len(required) == 0:
		return "{ [name: string]: never }"
	case known+len(required) == 0:
		return "{ [name: string]: unknown }" // not Record, which may be the name of a definition
	}
	inner.WriteString(indent + "}")
	return inner.String()
}

// literalType returns the type of a single value.
func literalType(v jsontext.Value) string {
	if v.Kind() == '{' || v.Kind() == '[' {
		return "unknown"
	}
	return string(v)
}

// stringOf returns the text of a JSON string, or "" for any other value.
func stringOf(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	return rawjson.Unquote(v)
}

// member returns the value of the member of v called name, or nil.
func member(v []byte, name string) jsontext.Value {
	value, _ := rawjson.Member(v, name)
	return value
}
