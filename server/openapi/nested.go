package openapi

import (
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/describe"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// nested adds the paths and components of the lists that are fields of a resource: of arrays of
// objects, unless the path leads to the records of a collection.
func (d *apiDocument) nested(r describe.Resource) {
	definitions := make(map[string]jsontext.Value)
	for _, def := range d.about.Definitions {
		definitions[def.Name] = def.Schema
	}
	for quoted, field := range rawjson.Members(rawjson.Get(definitions[r.Record], "properties")) {
		name := rawjson.Unquote(quoted)
		items := rawjson.Get(field, "items")
		is := items
		if to, ok := strings.CutPrefix(rawjson.String(rawjson.Get(items, "$ref")), schemaPrefix); ok {
			is = definitions[to]
		}
		if rawjson.String(rawjson.Get(is, "type")) != "object" ||
			r.Kind == storage.Array && d.snap.Refers(name, r.Name) {
			continue
		}
		record := r.Record + describe.Identifier(spell.Singular(name))
		for definitions[record] != nil || definitions[record+"Body"] != nil {
			record += "Item"
		}
		definitions[record] = items
		body := record + "Body"
		const anyObject = `{"description":"The rules of the whole record apply.","type":"object"}`
		d.about.Definitions = append(d.about.Definitions,
			describe.Definition{Name: record, Schema: items},
			describe.Definition{Name: body, Schema: jsontext.Value(anyObject)},
		)
		list := describe.Resource{
			Name:       r.Name + "/" + name,
			Kind:       storage.Array,
			Members:    rawjson.MemberNames(rawjson.Get(is, "properties")),
			Record:     record,
			Create:     body,
			Replace:    body,
			MergePatch: body,
		}
		more := []string{`{"$ref":"#/components/parameters/_dependent"},`, ""}
		path := url.PathEscape(r.Name) + "/" + url.PathEscape(name)
		if r.Kind == storage.Array {
			path = url.PathEscape(r.Name) + "/{id}/" + url.PathEscape(name)
			const parameters = `":{"parameters":[`
			more = append(more,
				`"/<path>`+parameters,
				`"/`+path+parameters+`{"$ref":"#/components/parameters/id"},`,
				`"/<path>/{id}`+parameters,
				`"/`+path+"/{element}"+parameters+`{"$ref":"#/components/parameters/element"},`)
		}
		d.resource(list, path, r.Name, more...)
	}
}
