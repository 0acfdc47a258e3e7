package server

import (
	"strconv"
)

// An apiParameter is a parameter of a URL's query that many operations take.
type apiParameter struct {
	name        string
	description string
	schema      object
	lists       bool // lists take it
	records     bool // single records take it
}

// apiParameters are the parameters of reads, beside the names of members. One
// that the query language gets is one more line.
var apiParameters = []apiParameter{
	{"_", "Ignored: it keeps caches from answering.", object{{"type", "string"}}, true, true},
}

func (p apiParameter) object() object {
	return object{{"name", p.name}, {"in", "query"}, {"description", p.description}, {"schema", p.schema}}
}

// filterSchema is the value of a filter: what occurs several times means "or".
var filterSchema = object{
	{"description", "Equal to the value; several values mean any of them. Numbers compare by value."},
	{"type", list{"string", "number", "boolean", "array"}},
	{"items", object{{"type", list{"string", "number", "boolean"}}}},
}

// idParameters are the names of a record's id in the query of a write.
func idParameters(own string) list {
	parameter := func(name string) object {
		return object{
			{"name", name}, {"in", "query"}, {"description", "The id of the record. It is needed under one of the names Id, id and " + own + "."},
			{"schema", object{{"type", list{"string", "number"}}}},
		}
	}
	return list{parameter("Id"), parameter("id"), parameter(own)}
}

// answerHeaders are the headers of every answer that is no error.
var answerHeaders = object{
	{"X-Request-Id", object{{"description", "The name of this request in the log."}, {"schema", object{{"type", "string"}}}}},
}

// An apiError is an error that operations have in common.
type apiError struct {
	status      int
	name        string // of the component
	description string
	headers     object
	always      bool // every operation has it
}

// apiErrors are the errors by status.
var apiErrors = []apiError{
	{400, "BadRequest", "A parameter cannot be read, or the body is JSON of the wrong shape.", nil, false},
	{401, "Unauthorized", "Credentials are missing or wrong.", object{header("WWW-Authenticate", "How to authenticate.")}, false},
	{403, "CrossOrigin", "The request comes from a page of an origin that is not allowed.", nil, true},
	{404, "NotFound", "There is no such record or collection. The collections that there are, are listed.", nil, false},
	{405, "MethodNotAllowed", "The resource does not know the method.", object{header("Allow", "The methods that it knows.")}, false},
	{408, "TooSlow", "The body took too long to arrive.", nil, false},
	{409, "Conflict", "A value that has to be the only one of its kind is taken. Nothing was stored.", nil, false},
	{413, "TooLarge", "The body is too large.", nil, false},
	{414, "URITooLong", "The URL is too long.", nil, false},
	{415, "UnsupportedMediaType", "The body is no JSON by its Content-Type.", object{header("Accept-Patch", "What PATCH takes.")}, false},
	{421, "Misdirected", "The server does not answer to the name in Host.", nil, true},
	{422, "Invalid", "The body breaks a rule; every fault is listed with its JSON Pointer. Nothing was stored.", nil, false},
	{500, "InvalidJSON", "The body is not valid JSON (title \"Internal server Error\", with line and column), or something went wrong on this side.", nil, true},
	{503, "Unavailable", "The file cannot be used at present: it was left broken by an edit, is being saved, or the disk refuses. Nothing was changed.", object{header("Retry-After", "Seconds to wait.")}, false},
	{507, "Full", "The disk is full. Nothing was changed.", object{header("Retry-After", "Seconds to wait.")}, false},
}

func header(name, description string) entry {
	return entry{name, object{{"description", description}, {"schema", object{{"type", "string"}}}}}
}

func (e apiError) response() object {
	headers := append(append(object{}, answerHeaders...), e.headers...)
	return object{
		{"description", e.description},
		{"headers", headers},
		{"content", object{{problemType, object{
			{"schema", ref("Problem")},
			{"example", object{{"type", "about:blank"}, {"title", e.title()}, {"status", e.status}, {"detail", e.description}}},
		}}}},
	}
}

func (e apiError) title() string {
	if e.status == 500 {
		return "Internal server Error"
	}
	return phrase(e.status)
}

// What reads and writes may be refused with.
var (
	readErrors  = []int{400, 401, 404, 414}
	writeErrors = []int{400, 401, 404, 405, 408, 409, 413, 414, 415, 422, 503, 507}
)

// ownSchemas are the schemas of the service's own answers.
var ownSchemas = object{
	{"Problem", object{
		{"description", "What went wrong (RFC 9457)."},
		{"type", "object"},
		{"required", list{"type", "title", "status", "detail"}},
		{"properties", object{
			{"type", object{{"type", "string"}}},
			{"title", object{{"type", "string"}}},
			{"status", object{{"type", "integer"}}},
			{"detail", object{{"type", "string"}}},
			{"line", object{{"description", "Of invalid JSON, from 1."}, {"type", "integer"}}},
			{"column", object{{"description", "Of invalid JSON, from 1, in characters."}, {"type", "integer"}}},
			{"errors", object{{"type", "array"}, {"items", object{
				{"type", "object"},
				{"required", list{"detail"}},
				{"properties", object{
					{"pointer", object{{"description", "Where in the body (RFC 6901)."}, {"type", "string"}}},
					{"parameter", object{{"description", "Which parameter of the URL."}, {"type", "string"}}},
					{"detail", object{{"type", "string"}}},
				}},
			}}}},
			{"collections", object{{"description", "The collections that there are, where something is not found."}, {"type", "array"}, {"items", object{{"type", "string"}}}}},
		}},
	}},
	{"Filter", filterSchema},
	{"Link", object{
		{"type", "object"},
		{"required", list{"name", "href"}},
		{"properties", object{
			{"name", object{{"type", "string"}}},
			{"count", object{{"description", "Records of a collection."}, {"type", "integer"}}},
			{"href", object{{"type", "string"}}},
		}},
	}},
	{"Index", object{
		{"type", "object"},
		{"required", list{"name", "version", "collections", "objects", "service"}},
		{"properties", object{
			{"name", object{{"type", "string"}}},
			{"version", object{{"type", "string"}}},
			{"collections", object{{"type", "array"}, {"items", ref("Link")}}},
			{"objects", object{{"type", "array"}, {"items", ref("Link")}}},
			{"service", object{{"type", "array"}, {"items", ref("Link")}}},
		}},
	}},
	{"Health", object{
		{"type", "object"},
		{"required", list{"status"}},
		{"properties", object{
			{"status", object{{"type", "string"}, {"enum", list{"alive", "ready"}}}},
			{"count", object{{"description", "How many findings there are."}, {"type", "integer"}}},
			{"findings", object{{"type", "array"}, {"items", object{
				{"description", "Something in the file, or in its rules, that a person should look at."},
				{"type", "object"},
				{"required", list{"file", "detail"}},
				{"properties", object{
					{"file", object{{"type", "string"}}},
					{"line", object{{"type", "integer"}}},
					{"column", object{{"type", "integer"}}},
					{"pointer", object{{"type", "string"}}},
					{"detail", object{{"type", "string"}}},
				}},
			}}}},
		}},
	}},
}

func statusText(status int) string { return strconv.Itoa(status) }
