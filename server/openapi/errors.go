package openapi

// An apiError is an error that operations have in common.
type apiError struct {
	status      int
	name        string // of the component
	description string
	headers     list // by name; see apiHeaders
	always      bool // every operation has it
}

// apiErrors are the errors by status.
var apiErrors = []apiError{
	{400, "BadRequest", "A parameter cannot be read, or the body is JSON of the wrong shape. As plain text: the request's head cannot be read.", list{"Accept-Query", "Preference-Applied"}, false},
	{401, "Unauthorized", "Credentials are missing or wrong.", list{"WWW-Authenticate"}, false},
	{403, "CrossOrigin", "The request comes from a page of an origin that is not allowed.", nil, true},
	{404, "NotFound", "There is no such record or collection. The collections that there are, are listed.", nil, false},
	{405, "MethodNotAllowed", "The resource does not know the method; or PUT was to create a record in a collection whose ids the service makes.", list{"Allow"}, false},
	{408, "TooSlow", "The body took too long to arrive.", nil, false},
	{409, "Conflict", "A value that has to be the only one of its kind is taken, the patch does not fit what is stored, or another record refers to what was to be deleted. Nothing was changed.", nil, false},
	{412, "PreconditionFailed", "It is not what If-Match says, or it is there, which If-None-Match rules out. Nothing was changed.", list{"ETag"}, false},
	{413, "TooLarge", "The body is too large, or the database would become so.", nil, false},
	{414, "URITooLong", "The URL is too long.", nil, false},
	{415, "UnsupportedMediaType", "The body is not what is taken here, by its Content-Type or its Content-Encoding. A header says what is.", list{"Accept", "Accept-Encoding", "Accept-Patch", "Accept-Query"}, false},
	{421, "Misdirected", "The server does not answer to the name in Host.", nil, true},
	{422, "Invalid", "The body breaks a rule; every fault is listed with its JSON Pointer. Nothing was stored.", nil, false},
	{429, "TooManyFailures", "Too many wrong credentials came from this address. Right ones are not looked at either before the time is over.", list{"Retry-After"}, false},
	{431, "HeadersTooLarge", "The headers are too large. The answer is a line of plain text.", nil, true},
	{500, "InvalidJSON", "The body is not valid JSON (title \"Internal server Error\", with line and column), or something went wrong on this side.", nil, true},
	{503, "Unavailable", "Not at present: the file was left broken by an edit, is being saved, or the disk refuses; or too many large requests are on their way. Nothing was changed.", list{"Retry-After"}, false},
	{507, "Full", "The disk is full. Nothing was changed.", list{"Retry-After"}, false},
}

func (e apiError) response(all bool) object {
	problem := object{{ProblemType, object{
		{"schema", ref("Problem")},
		{"example", object{{"type", "about:blank"}, {"title", e.title()}, {"status", e.status}, {"detail", e.description}}},
	}}}
	// What the server cannot make out as a request it answers before there is
	// anything to name.
	switch {
	case e.status == 400 && all:
		problem = append(problem, entry{"text/plain", object{{"schema", textSchema}}})
	case e.status == 431:
		// Clients that are made from the document take every error for a
		// problem as long as no other type is all that one has.
		return object{{"description", e.description}}
	}
	return object{
		{"description", e.description},
		{"headers", headersOf(append(list{"X-Request-Id"}, e.headers...))},
		{"content", problem},
	}
}

func (e apiError) title() string {
	if e.status == 500 {
		return "Internal server Error"
	}
	return StatusText(e.status)
}

// What reads and writes may be refused with.
var (
	readErrors  = []int{400, 401, 404, 414, 429, 503}
	queryErrors = []int{400, 401, 404, 408, 413, 414, 415, 429, 503}
	writeErrors = []int{400, 401, 404, 405, 408, 409, 412, 413, 414, 415, 422, 429, 503, 507}
)
