package openapi

import (
	"slices"

	"pickup/internal/describe"
)

// An apiParameter is a parameter that many operations take.
type apiParameter struct {
	in          string
	name        string
	description string
	schema      object
	use         parameterUse
}

// A parameterUse says which operations take a parameter.
type parameterUse uint8

const (
	ofLists   parameterUse = 1 << iota // GET and QUERY of a list
	ofRecords                          // GET of a record or an object
	ofGets                             // every GET and QUERY with a tag
	ofWrites                           // whatever changes something
	ofDeletes
	reshapes // it changes the shape of the answer: described with Options.All
)

var (
	textSchema   = object{{"type", "string"}}
	numberSchema = object{{"type", "integer"}}
)

// apiParameters are the parameters beside the names of members. One that the
// query language gets is one more line.
var apiParameters = []apiParameter{
	{"query", "q", "Records that contain the text anywhere, at any depth. Several texts: all of them.",
		object{{"type", list{"string", "array"}}, {"items", textSchema}}, ofLists},
	{"query", "_where", "A condition as JSON, as in {\"or\": [{\"views\": {\"gt\": 10}}, {\"title\": {\"contains\": \"x\"}}]}.",
		textSchema, ofLists}, // with its media type viewers would ask for a file
	{"query", "_sort", "Members, or paths of members, to sort by, with commas between them; a minus before one turns its order round.", textSchema, ofLists},
	{"query", "_order", "asc or desc for each member of _sort, with commas between them.", textSchema, ofLists},
	{"query", "_page", "The page, from 1.", numberSchema, ofLists | reshapes},
	{"query", "_per_page", "How many records a page has. With _page the answer is an object that has the page in data, with the numbers of the pages.", numberSchema, ofLists | reshapes},
	{"query", "_limit", "How many records at most, from _start or of the _page.", numberSchema, ofLists},
	{"query", "_start", "The first record, from 0; a negative one counts from the end.", numberSchema, ofLists},
	{"query", "_end", "The record behind the last; a negative one counts from the end.", numberSchema, ofLists},
	{"query", "_embed", "Collections whose records refer to these, or what these refer to, to put into them; commas between several, dots between levels.", textSchema, ofLists | ofRecords},
	{"query", "_expand", "What these refer to, by a member such as driverId, to put into them; commas between several, dots between levels.", textSchema, ofLists | ofRecords},
	{"query", "_fields", "Members, or paths of members, to which the records are reduced, with commas between them.", textSchema, ofLists | ofRecords | reshapes},
	{"query", "_", "Ignored: it keeps caches from answering.", textSchema, ofLists | ofRecords | ofWrites},
	{"query", "_dependent", "Collections whose records that refer to this one are deleted with it, with commas between them.", textSchema, ofDeletes},
	{"header", "If-Match", "Only if the tag of what is there is one of these; else 412.", textSchema, ofWrites},
	{"header", "If-None-Match", "Of a read: tags that the client has; 304 if one is that of the answer. Of a write: only if there is no such thing; else 412. PUT with * creates a record and replaces none.", textSchema, ofGets | ofWrites},
	{"header", "Prefer", "return=minimal answers a write without a body; handling=strict refuses names that no record has (RFC 7240).", textSchema, ofLists | ofRecords | ofWrites},
}

// component returns the name of the parameter among the components.
func (p apiParameter) component() string { return p.in + "." + p.name }

func (p apiParameter) object() object {
	return object{{"name", p.name}, {"in", p.in}, {"description", p.description}, {"schema", p.schema}}
}

// parametersOf returns the parameters with one of those uses.
func (d *apiDocument) parametersOf(use parameterUse) list {
	var parameters list
	for _, p := range apiParameters {
		if p.use&use != 0 && (d.All || p.use&reshapes == 0) {
			parameters = append(parameters, object{{"$ref", "#/components/parameters/" + p.component()}})
		}
	}
	return parameters
}

// listParameters returns what a list takes: the members by which records are
// filtered, and the language.
func (d *apiDocument) listParameters(r describe.Resource) list {
	var parameters list
	for _, name := range r.Members {
		// Some names never mean a member.
		if !slices.ContainsFunc(apiParameters, func(p apiParameter) bool { return p.in == "query" && p.name == name && p.use&ofLists != 0 }) {
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
		{"description", "Any other filters, each a parameter of its own: a member, a path of members with dots between them, or one of these with a colon or an underscore and an operator behind it, as in views:gte or title_like. " +
			"The operators: eq, ne, lt, lte, gt, gte, in (values with commas between them), contains, startsWith, endsWith, like (a pattern), exists (true or false). Filters hold all at once."},
		{"schema", object{{"type", "object"}, {"additionalProperties", ref("Filter")}}},
		{"example", object{}}, // else viewers fill in names that no record has
	})
	return append(parameters, d.parametersOf(ofLists|ofGets)...)
}

// idParameters are the names of a record's id in the query of a write.
func idParameters(own, description string) list {
	parameter := func(name string) object {
		return object{
			{"name", name}, {"in", "query"}, {"description", description},
			{"schema", object{{"type", list{"string", "number"}}}},
		}
	}
	return list{parameter("Id"), parameter("id"), parameter(own)}
}
