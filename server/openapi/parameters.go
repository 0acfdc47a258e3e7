package openapi

import (
	"slices"
	"strings"

	"pickup/internal/describe"
)

// The parameters of operations, by their names in components.json.
const (
	ofRecords = "_embed _expand _fields _since _"
	ofLists   = "q _where _sort _order _page _per_page _limit _start _end " + ofRecords
	ofWrites  = "_ If-Match If-None-Match Prefer"
	ofDeletes = "_dependent " + ofWrites
	readHeads = "If-None-Match Last-Event-ID Pickup-Revision Prefer"

	// These change the form of an answer and are described with Options.All only.
	reshaping = "_page _per_page _fields _since Last-Event-ID " + simulated

	simulated = "_delay _code _fault _hold" // of all paths of the API, if there are simulations
)

var textSchema = object{{"type", "string"}}

// parametersOf returns references to parameters.
func (d *apiDocument) parametersOf(names ...string) list {
	var parameters list
	for name := range strings.FieldsSeq(strings.Join(names, " ")) {
		if !d.All && slices.Contains(strings.Fields(reshaping), name) {
			continue
		}
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
		if !slices.Contains(strings.Fields(ofLists+" "+simulated), name) {
			parameters = append(parameters, object{
				{"name", name}, {"in", "query"}, {"description", "Records whose " + name + " equals the value; several values mean any of them."}, {"schema", ref("Filter")},
			})
		}
	}
	filters := "filters"
	for slices.Contains(r.Members, filters) {
		filters += "_"
	}
	parameters = append(parameters, object{
		{"name", filters}, {"in", "query"}, {"style", "form"}, {"explode", true},
		{"description", "Any other filters, each as a parameter: a member or a dotted path of members, optionally followed by a colon or an underscore and an operator, such as views:gte or title_like. " +
			"The operators: eq, ne, lt, lte, gt, gte, in (comma-separated values), contains, startsWith, endsWith, like (a pattern), exists (true or false). All filters must match."},
		{"schema", object{{"type", "object"}, {"additionalProperties", ref("Filter")}}},
		{"example", object{}}, // viewers would invent names otherwise
	})
	return append(parameters, d.parametersOf(ofLists, readHeads)...)
}

// idParameters are the parameters for the id, in the query of a write, of one
// of a collection.
func idParameters(own, description string) list {
	var parameters list
	for _, name := range []string{"Id", "id", own} {
		parameters = append(parameters, object{
			{"name", name}, {"in", "query"}, {"description", description}, {"schema", object{{"type", list{"string", "number"}}}},
		})
	}
	return parameters
}

// idOf returns the parameter of a path that is the id of one of a collection.
func idOf(one string) list {
	return list{object{
		{"name", "id"}, {"in", "path"}, {"required", true}, {"description", "The id of the " + one + ", as text."}, {"schema", textSchema},
	}}
}
