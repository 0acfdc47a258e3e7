package openapi

// An apiHeader is a response header.
type apiHeader struct {
	name        string
	description string
	always      bool // present in every answer that lists it
}

// apiHeaders are the response headers.
var apiHeaders = []apiHeader{
	{"X-Request-Id", "The id of this request in the log.", false},
	{"Pickup-Revision", "The revision of the write, or of the data that was read: the mark of the server's run and a number.", false},
	{"ETag", "The strong entity tag of the answer, or of the record as it is now stored (RFC 9110, section 8.8.3).", false},
	{"Location", "The path of the record, if one was created.", false},
	{"Link", "The other pages: first, prev, next, last (RFC 8288). For a paged list that has others.", false},
	{"X-Total-Count", "The number of records on all pages. For a paged list.", false},
	{"Content-Range", "The range of these records, from 0, such as posts 0-9/42. For a paged list.", false},
	{"Preference-Applied", "The preferences in Prefer that were applied (RFC 7240).", false},
	{"Allow", "The methods of the resource.", true},
	{"Accept", "The accepted media types of the body.", false},
	{"Accept-Encoding", "The accepted content codings of the body: identity.", false},
	{"Accept-Patch", "The media types of PATCH (RFC 5789).", false},
	{"Accept-Query", "The media types of QUERY (RFC 10008).", false},
	{"Retry-After", "Seconds to wait.", true},
	{"WWW-Authenticate", "The authentication scheme.", true},
}

func (h apiHeader) object() object {
	o := object{{"description", h.description}, {"schema", object{{"type", "string"}}}}
	if h.always {
		o = append(o, entry{"required", true})
	}
	return o
}

// headersOf returns the headers of those names, a list of strings.
func headersOf(names list) object {
	headers := object{}
	for _, name := range names {
		headers = append(headers, entry{name.(string), object{{"$ref", "#/components/headers/" + name.(string)}}})
	}
	return headers
}

// The headers of answers: recordHeaders and those below it in addition to everyAnswer.
var (
	everyAnswer    = list{"X-Request-Id", "Pickup-Revision"}
	recordHeaders  = list{"ETag", "Preference-Applied"}
	listHeaders    = list{"ETag", "Preference-Applied", "X-Total-Count", "Content-Range", "Link"}
	createdHeaders = list{"ETag", "Preference-Applied", "Location"}
	restHeaders    = list{"Preference-Applied"}
)
