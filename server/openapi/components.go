package openapi

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// fixedComponents are the components that do not depend on the database: schemas, parameters,
// headers and responses, as in a document.
//
//go:embed components.json
var fixedComponents []byte

const schemaPrefix = "#/components/schemas/"

// ref returns a reference to a schema.
func ref(name string) object {
	return object{{"$ref", schemaPrefix + name}}
}

// errorsText describes the response to errors, in Markdown with a line for each status.
//
//go:embed errors.md
var errorsText string

// components returns the components that the paths refer to. Linters report unused components.
func (d *apiDocument) components() object {
	d.shared["schemas"] = d.databaseSchemas()
	components := object{}
	texts := make(map[string][]byte)
	about := rawjson.AppendQuote(nil, strings.TrimSpace(errorsText))
	text := bytes.ReplaceAll(fixedComponents, []byte(`"<errors>"`), about)
	for kind, fixed := range rawjson.Fields(text) {
		all := d.shared[kind]
		for name, v := range rawjson.Members(fixed) {
			all = append(all, entry{rawjson.Unquote(name), rawjson.Compact(v)})
		}
		for _, e := range all {
			texts[kind+"/"+e.name] = appendDocument(nil, e.value)
		}
		components = append(components, entry{kind, all})
	}
	reached := reachable("#/components/", texts, appendDocument(nil, d.paths))
	for i, kind := range components {
		components[i].value = slices.DeleteFunc(kind.value.(object), func(e entry) bool {
			return !reached[kind.name+"/"+e.name] && !(kind.name == "securitySchemes" && d.Auth)
		})
	}
	return slices.DeleteFunc(components, func(e entry) bool { return len(e.value.(object)) == 0 })
}

// databaseSchemas returns the schemas of the records and of the database.
func (d *apiDocument) databaseSchemas() object {
	schemas, members := object{}, object{}
	for _, def := range d.about.Definitions {
		schemas = append(schemas, entry{def.Name, def.Schema})
	}
	for _, r := range d.about.Resources {
		schema := ref(r.Record)
		if r.Kind == storage.Array {
			schema = object{{"type", "array"}, {"items", schema}}
		}
		members = append(members, entry{r.Name, schema})
	}
	return append(schemas, entry{"Database", object{
		{"description", "The whole database. It may have fields that are neither collections nor objects."},
		{"type", "object"}, {"properties", members},
	}})
}

// reachable returns the names of the texts that start refers to, directly or through other texts. A
// reference is the prefix and a name.
func reachable(prefix string, texts map[string][]byte, start []byte) map[string]bool {
	reached := make(map[string]bool)
	for queue := [][]byte{start}; len(queue) > 0; queue = queue[1:] {
		for _, rest := range bytes.Split(queue[0], []byte(`"`+prefix))[1:] {
			name, _, _ := bytes.Cut(rest, []byte(`"`))
			if !reached[string(name)] {
				reached[string(name)] = true
				queue = append(queue, texts[string(name)])
			}
		}
	}
	return reached
}
