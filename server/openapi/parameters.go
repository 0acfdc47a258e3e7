package openapi

import (
	"slices"

	"pickup/internal/describe"
)

// An apiParameter is a parameter of many operations.
type apiParameter struct {
	in          string
	name        string
	description string
	schema      object
	use         parameterUse
}

// A parameterUse is a set of operations with a parameter.
type parameterUse uint8

const (
	ofLists   parameterUse = 1 << iota // GET and QUERY of a list
	ofRecords                          // GET of a record or an object
	ofGets                             // every GET and QUERY with a tag
	ofWrites                           // every write
	ofDeletes
	reshapes // it changes the shape of the answer: described with Options.All
)

var (
	textSchema   = object{{"type", "string"}}
	numberSchema = object{{"type", "integer"}}
)

// apiParameters are the parameters other than the names of members.
var apiParameters = []apiParameter{
	{"query", "q", "Records that contain the text anywhere, at any depth. Several texts: all of them.",
		object{{"type", list{"string", "array"}}, {"items", textSchema}}, ofLists},
	{"query", "_where", "A condition as JSON, as in {\"or\": [{\"views\": {\"gt\": 10}}, {\"title\": {\"contains\": \"x\"}}]}.",
		textSchema, ofLists}, // with a media type viewers would ask for a file
	{"query", "_sort", "Comma-separated members, or paths of members, to sort by; a minus sign reverses the order.", textSchema, ofLists},
	{"query", "_order", "Comma-separated asc or desc for the members of _sort.", textSchema, ofLists},
	{"query", "_page", "The page, from 1.", numberSchema, ofLists | reshapes},
	{"query", "_per_page", "The records of a page. With _page the answer is an object with the page in data and the page numbers.", numberSchema, ofLists | reshapes},
	{"query", "_limit", "The maximum number of records, from _start or of the _page.", numberSchema, ofLists},
	{"query", "_start", "The first record, from 0; a negative number counts from the end.", numberSchema, ofLists},
	{"query", "_end", "The end of the records, exclusive; a negative number counts from the end.", numberSchema, ofLists},
	{"query", "_embed", "Related records to include: collections that refer to these records, or what these refer to. Comma-separated; dots between levels.", textSchema, ofLists | ofRecords},
	{"query", "_expand", "Referenced records to include, by a member such as driverId. Comma-separated; dots between levels.", textSchema, ofLists | ofRecords},
	{"query", "_fields", "Comma-separated members, or paths of members, to return.", textSchema, ofLists | ofRecords | reshapes},
	{"query", "_since", "Of a stream: the id of the event to continue after, or now to leave out the present state.", textSchema, ofLists | ofRecords | reshapes},
	{"query", "_", "Ignored; a changing value bypasses caches.", textSchema, ofLists | ofRecords | ofWrites},
	{"query", "_dependent", "Comma-separated collections whose records are deleted too if they refer to this one.", textSchema, ofDeletes},
	{"header", "If-Match", "Proceed only if the current entity tag is one of these; otherwise 412.", textSchema, ofWrites},
	{"header", "If-None-Match", "Of a read: entity tags that the client has; 304 if one is current. Of a write: proceed only if none is current; otherwise 412. PUT with * creates a record and replaces none.", textSchema, ofGets | ofWrites},
	{"header", "Last-Event-ID", "Of a stream: the id of the last event received. The stream continues after it.", textSchema, ofLists | ofRecords | reshapes},
	{"header", "Prefer", "return=minimal omits the body of the answer to a write; handling=strict refuses names that no record has (RFC 7240).", textSchema, ofLists | ofRecords | ofWrites},
}

// component returns the name of the parameter in the components.
func (p apiParameter) component() string { return p.in + "." + p.name }

func (p apiParameter) object() object {
	return object{{"name", p.name}, {"in", p.in}, {"description", p.description}, {"schema", p.schema}}
}

// parametersOf returns the parameters with one of the uses.
func (d *apiDocument) parametersOf(use parameterUse) list {
	var parameters list
	for _, p := range apiParameters {
		if p.use&use != 0 && (d.All || p.use&reshapes == 0) {
			parameters = append(parameters, object{{"$ref", "#/components/parameters/" + p.component()}})
		}
	}
	return parameters
}

// listParameters returns the parameters of a list: the members to filter by, and
// the query language.
func (d *apiDocument) listParameters(r describe.Resource) list {
	var parameters list
	for _, name := range r.Members {
		// Names of the query language are never members.
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
		{"description", "Any other filters, each as a parameter: a member or a dotted path of members, optionally followed by a colon or an underscore and an operator, such as views:gte or title_like. " +
			"The operators: eq, ne, lt, lte, gt, gte, in (comma-separated values), contains, startsWith, endsWith, like (a pattern), exists (true or false). All filters must match."},
		{"schema", object{{"type", "object"}, {"additionalProperties", ref("Filter")}}},
		{"example", object{}}, // viewers would invent names otherwise
	})
	return append(parameters, d.parametersOf(ofLists|ofGets)...)
}

// idParameters are the parameters for a record's id in the query of a write.
func idParameters(own, description string) list {
	parameter := func(name string) object {
		return object{
			{"name", name}, {"in", "query"}, {"description", description},
			{"schema", object{{"type", list{"string", "number"}}}},
		}
	}
	return list{parameter("Id"), parameter("id"), parameter(own)}
}
