package openapi

import (
	"slices"
	"strings"

	"pickup/internal/describe"
	"pickup/internal/query"
)

// The parameters of operations on data, by their names in components.json.
const (
	ofRecords = "_embed _expand"
	ofLists   = "q _where _sort _order _limit _start _end " + ofRecords
	ofDeletes = "_dependent If-Match"
	ofData    = "If-None-Match Prefer" // all operations on data, so they are of its paths
)

// parametersOf returns references to parameters.
func (d *apiDocument) parametersOf(names ...string) list {
	var parameters list
	for name := range strings.FieldsSeq(strings.Join(names, " ")) {
		parameters = append(parameters, object{{"$ref", "#/components/parameters/" + name}})
	}
	return parameters
}

// listParameters returns the parameters of a list: the members to filter by, and
// the query language.
func (d *apiDocument) listParameters(r describe.Resource) list {
	var parameters list
	for _, name := range r.Members {
		// Names of the query language are never members.
		if !slices.Contains(query.Functions, name) {
			parameters = append(parameters, object{
				{"name", name}, {"in", "query"}, {"schema", ref("Filter")},
			})
		}
	}
	if slices.Contains(r.Members, "filters") {
		return append(parameters, d.parametersOf(ofLists)...)
	}
	return append(parameters, d.parametersOf("filters", ofLists)...)
}
