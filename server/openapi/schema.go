package openapi

import (
	"cmp"

	"pickup/internal/database"
	"pickup/internal/describe"
)

// RecordSchema returns the JSON Schema of a record of a collection, or of a singular resource, with
// the definitions that the schema refers to. It reports false if there is no such resource.
func RecordSchema(snap *database.Snapshot, name string) ([]byte, bool) {
	about := describe.Database(snap, describe.Options{Prefix: "#/$defs/"})
	for _, r := range about.Resources {
		if r.Name != name {
			continue
		}
		dialect := cmp.Or(about.Dialect, "https://json-schema.org/draft/2020-12/schema")
		doc := object{{"$schema", dialect}, {"$ref", "#/$defs/" + r.Record}}
		texts := make(map[string][]byte)
		for _, d := range about.Definitions {
			texts[d.Name] = d.Schema
		}
		reached := reachable("#/$defs/", texts, appendDocument(nil, doc))
		defs := object{}
		for _, d := range about.Definitions {
			if reached[d.Name] {
				defs = append(defs, entry{d.Name, d.Schema})
			}
		}
		return appendDocument(nil, append(doc, entry{"$defs", defs})), true
	}
	return nil, false
}
