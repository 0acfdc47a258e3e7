package openapi

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/describe"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
	"pickup/server/envelope"
)

const typesHead = `// Types of the records and bodies of pickup, from its current data and rules.
// The names are the same as in the OpenAPI document, /_/openapi.json.

`

// TypeScript returns the TypeScript declarations for a snapshot, with responses in the given form.
func TypeScript(snap *database.Snapshot, form *envelope.Form) []byte {
	reserved := []string{"Database", "Problem", "Page", "ListOf", "RecordOf"}
	about := describe.Database(snap, describe.Options{Prefix: typeReference, Reserved: reserved})
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
		w.WriteString("  " + rawjson.Quote(r.Name) + ": " + t + ";\n")
	}
	w.WriteString("  [name: string]: unknown;\n};\n\n")
	if form == nil {
		w.WriteString(pageType)
	} else {
		list := "/** The response with a list. */\nexport type ListOf<T> = " + string(form.Wrap([]byte("[]"), 0))
		record := "/** The response with a record, and its body. */\nexport type RecordOf<T> = " +
			string(form.Wrap([]byte("{}"), 0))
		types := strings.NewReplacer("[]", "T[]", "{}", "T", ":0", ":number")
		_, _ = types.WriteString(w, list+";\n\n"+record+";\n\n")
	}
	w.declare("Problem", rawjson.Get(rawjson.Get(fixedComponents, "schemas"), "Problem"))
	return bytes.TrimSuffix(w.Bytes(), []byte("\n"))
}

//go:embed page.d.ts
var pageType string

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
	if s := rawjson.String(rawjson.Get(schema, "description")); s != "" {
		s = strings.Join(strings.Fields(s), " ")
		s = strings.ReplaceAll(s, "*/", "*\u200b/") // must not end the comment
		w.WriteString(indent + "/** " + s + " */\n")
	}
}

// typeOf returns the type of the values that a schema allows: the intersection of the types of the
// keywords.
func (w *typeWriter) typeOf(schema jsontext.Value, indent string) string {
	if schema.Kind() == 'f' || string(rawjson.Get(schema, "not")) == "{}" {
		return "never"
	}
	var all []string
	values := false // the schema lists them
	for quoted, v := range rawjson.Members(schema) {
		switch rawjson.Unquote(quoted) {
		case "$ref":
			if name, ok := strings.CutPrefix(rawjson.String(v), typeReference); ok {
				all = append(all, name)
			}
		case "enum":
			values = true
			all = append(all, union(v, literalType))
		case "const":
			values = true
			all = append(all, literalType(v))
		case "anyOf", "oneOf":
			all = append(all, union(v, func(e jsontext.Value) string { return w.typeOf(e, indent) }))
		case "allOf":
			for e := range rawjson.Elements(v) {
				all = append(all, w.typeOf(e, indent))
			}
		}
	}
	if !values {
		all = append(all, w.ownType(schema, indent))
	}
	all = slices.DeleteFunc(all, func(t string) bool { return t == "unknown" || t == "" })
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

// union returns the union of the types of the elements.
func union(elements jsontext.Value, typeOf func(jsontext.Value) string) string {
	var types []string
	for e := range rawjson.Elements(elements) {
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
	types := rawjson.Get(schema, "type")
	switch {
	case types.Kind() == '"':
		types = jsontext.Value("[" + string(types) + "]")
	case types != nil:
	case rawjson.Get(schema, "properties") != nil || rawjson.Get(schema, "required") != nil:
		types = jsontext.Value(`["object"]`)
	case rawjson.Get(schema, "items") != nil:
		types = jsontext.Value(`["array"]`)
	}
	return union(types, func(t jsontext.Value) string {
		switch t := rawjson.String(t); t {
		case "integer":
			return "number"
		case "array":
			if rawjson.Get(schema, "prefixItems") != nil {
				return "unknown[]"
			}
			return grouped(w.typeOf(rawjson.Get(schema, "items"), indent)) + "[]"
		case "object":
			return w.objectType(schema, indent)
		default:
			return t
		}
	})
}

// objectType returns the type of an object.
func (w *typeWriter) objectType(schema jsontext.Value, indent string) string {
	var required []string
	for e := range rawjson.Elements(rawjson.Get(schema, "required")) {
		required = append(required, rawjson.String(e))
	}
	inner := new(typeWriter)
	field := func(name, mark, t string) {
		inner.WriteString(indent + "  " + rawjson.Quote(name) + mark + ": " + t + ";\n")
	}
	for quoted, s := range rawjson.Members(rawjson.Get(schema, "properties")) {
		name, mark := rawjson.Unquote(quoted), "?"
		if i := slices.Index(required, name); i >= 0 {
			mark, required = "", slices.Delete(required, i, i+1)
		}
		inner.comment(s, indent+"  ")
		field(name, mark, w.typeOf(s, indent+"  "))
	}
	for _, name := range required {
		field(name, "", "unknown")
	}
	if inner.Len() == 0 { // Record<string, T> would fail: a definition may be called Record
		return "{ [name: string]: " + w.typeOf(rawjson.Get(schema, "additionalProperties"), indent) + " }"
	}
	return "{\n" + inner.String() + indent + "}"
}

// literalType returns the type of a single value.
func literalType(v jsontext.Value) string {
	if v.Kind() == '{' || v.Kind() == '[' {
		return "unknown"
	}
	return string(v)
}
