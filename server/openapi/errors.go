package openapi

import (
	"fmt"
	"slices"
)

// An apiError is an error answer.
type apiError struct {
	status      int
	description string
	headers     []string
}

// apiErrors are the errors by status.
var apiErrors = []apiError{
	{400, "A parameter is invalid, or the body is JSON of the wrong type. As plain text: the head of the request is invalid.", []string{"Accept-Query", "Preference-Applied"}},
	{401, "Credentials are missing or wrong.", []string{"WWW-Authenticate"}},
	{403, "The origin of the page that sends the request is not allowed, or the user may only read.", nil},
	{404, "No such record or collection. The existing collections are listed.", nil},
	{405, "The resource has no such method, or PUT would create a record in a collection whose ids the service makes.", []string{"Allow"}},
	{408, "The body took too long to arrive.", nil},
	{409, "A unique value is taken, the patch does not apply to the stored value, another record refers to the one to delete, or what is to be undone has changed since. Nothing was changed.", nil},
	{410, "The history does not reach back so far, or does not have the values.", nil},
	{412, "The condition in If-Match or If-None-Match is false, or Pickup-Revision is of another database. Nothing was changed.", []string{"ETag"}},
	{413, "The body is too large, or the database would be.", nil},
	{414, "The URL is too long.", nil},
	{415, "The Content-Type or the Content-Encoding is not accepted. A header lists what is.", []string{"Accept", "Accept-Encoding", "Accept-Patch", "Accept-Query"}},
	{421, "The server does not serve the host name in Host.", nil},
	{422, "The body breaks a rule; every fault is listed with its JSON Pointer. Nothing was stored.", nil},
	{429, "Too many wrong credentials came from this address. Until the time is over none are checked.", []string{"Retry-After"}},
	{431, "The headers are too large. The answer is a line of plain text.", nil},
	{500, "The body is not valid JSON (title \"Internal server Error\", with line and column), or the server failed.", nil},
	{503, "Temporarily unavailable: an edit left the file broken, it is being saved, the disk reports an error, the cluster does not answer, or too many large requests are in progress. Nothing was changed.", []string{"Retry-After"}},
	{507, "The disk is full, or there are too many snapshots. Nothing was changed.", []string{"Retry-After"}},
}

// errorResponse returns the answer of all errors as a component.
func (d *apiDocument) errorResponse() entry {
	about, headers := "A problem.", object{}
	for _, e := range apiErrors {
		if (e.status == 401 || e.status == 429) && !d.Auth || e.status == 421 && !d.Loopback {
			continue
		}
		about += fmt.Sprintf("\n- %d: %s", e.status, e.description)
		for _, name := range e.headers {
			if !slices.ContainsFunc(headers, func(other entry) bool { return other.name == name }) {
				headers = append(headers, entry{name, object{{"$ref", "#/components/headers/" + name}}})
			}
		}
	}
	return entry{"Error", object{{"description", about}, {"headers", headers}, {"content", object{{ProblemType, object{{"schema", ref("Problem")}}}}}}}
}
