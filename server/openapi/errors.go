package openapi

import (
	"slices"
	"strconv"
)

// An apiError is an error answer that operations share.
type apiError struct {
	status      int
	name        string // of the component
	description string
	headers     []string
	always      bool // of every operation
}

// apiErrors are the errors by status.
var apiErrors = []apiError{
	{400, "BadRequest", "A parameter is invalid, or the body is JSON of the wrong type. As plain text: the head of the request is invalid.", []string{"Accept-Query", "Preference-Applied"}, false},
	{401, "Unauthorized", "Credentials are missing or wrong.", []string{"WWW-Authenticate"}, false},
	{403, "CrossOrigin", "The origin of the page that sends the request is not allowed, or the user may only read.", nil, true},
	{404, "NotFound", "No such record or collection. The existing collections are listed.", nil, false},
	{405, "MethodNotAllowed", "The resource has no such method, or PUT would create a record in a collection whose ids the service makes.", []string{"Allow"}, false},
	{408, "TooSlow", "The body took too long to arrive.", nil, false},
	{409, "Conflict", "A unique value is taken, the patch does not apply to the stored value, another record refers to the one to delete, or what is to be undone has changed since. Nothing was changed.", nil, false},
	{410, "Gone", "The history does not reach back so far, or does not have the values.", nil, false},
	{412, "PreconditionFailed", "The condition in If-Match or If-None-Match is false, or Pickup-Revision is of another database. Nothing was changed.", []string{"ETag"}, false},
	{413, "TooLarge", "The body is too large, or the database would be.", nil, false},
	{414, "URITooLong", "The URL is too long.", nil, false},
	{415, "UnsupportedMediaType", "The Content-Type or the Content-Encoding is not accepted. A header lists what is.", []string{"Accept", "Accept-Encoding", "Accept-Patch", "Accept-Query"}, false},
	{421, "Misdirected", "The server does not serve the host name in Host.", nil, true},
	{422, "Invalid", "The body breaks a rule; every fault is listed with its JSON Pointer. Nothing was stored.", nil, false},
	{429, "TooManyFailures", "Too many wrong credentials came from this address. Until the time is over none are checked.", []string{"Retry-After"}, false},
	{431, "HeadersTooLarge", "The headers are too large. The answer is a line of plain text.", nil, true},
	{500, "InvalidJSON", "The body is not valid JSON (title \"Internal server Error\", with line and column), or the server failed.", nil, true},
	{503, "Unavailable", "Temporarily unavailable: an edit left the file broken, it is being saved, the disk reports an error, the cluster does not answer, or too many large requests are in progress. Nothing was changed.", []string{"Retry-After"}, false},
	{507, "Full", "The disk is full, or there are too many snapshots. Nothing was changed.", []string{"Retry-After"}, false},
}

// errorResponses returns the error answers as components.
func (d *apiDocument) errorResponses() object {
	responses := object{}
	for _, e := range apiErrors {
		title := StatusText(e.status)
		if e.status == 500 {
			title = "Internal server Error"
		}
		content := object{{ProblemType, object{
			{"schema", ref("Problem")},
			{"example", object{{"type", "about:blank"}, {"title", title}, {"status", e.status}, {"detail", e.description}}},
		}}}
		// Requests that cannot be parsed are answered in plain text.
		if e.status == 400 && d.All {
			content = append(content, entry{"text/plain", object{{"schema", textSchema}}})
		}
		response := object{{"description", e.description}}
		if e.status != 431 { // generated clients expect a problem from every error that has content
			response = append(response, entry{"headers", headersOf(e.headers...)}, entry{"content", content})
		}
		responses = append(responses, entry{e.name, response})
	}
	return responses
}

// withErrors returns the responses and the errors with these statuses.
func (d *apiDocument) withErrors(statuses []int, responses ...entry) object {
	for _, e := range apiErrors {
		switch {
		case !e.always && !slices.Contains(statuses, e.status):
		case (e.status == 401 || e.status == 429) && !d.Auth, e.status == 421 && !d.Loopback:
		default:
			responses = append(responses, entry{strconv.Itoa(e.status), response(e.name)})
		}
	}
	return responses
}

// The statuses of refused reads, reads of data, and writes.
var (
	readErrors  = []int{400, 401, 404, 414, 429, 503}
	dataErrors  = []int{400, 401, 404, 412, 414, 429, 503}
	queryErrors = []int{400, 401, 404, 408, 412, 413, 414, 415, 429, 503}
	writeErrors = []int{400, 401, 404, 405, 408, 409, 412, 413, 414, 415, 422, 429, 503, 507}
)
