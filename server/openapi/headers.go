package openapi

// An apiHeader is a header of answers.
type apiHeader struct {
	name        string
	description string
	always      bool // it is in every answer that names it
}

// apiHeaders are the headers of answers.
var apiHeaders = []apiHeader{
	{"X-Request-Id", "The name of this request in the log.", false},
	{"ETag", "The strong tag of what is answered, or of the record as it is now stored (RFC 9110 section 8.8.3).", false},
	{"Location", "Where the record is, if it is one.", false},
	{"Link", "The other pages: first, prev, next, last (RFC 8288). Only of a list that is paged and has others.", false},
	{"X-Total-Count", "How many records there are on all pages. Only of a list that is paged.", false},
	{"Content-Range", "Which records these are, from 0, as in posts 0-9/42. Only of a list that is paged.", false},
	{"Preference-Applied", "Which of the preferences in Prefer was honoured (RFC 7240).", false},
	{"Allow", "The methods that the resource knows.", true},
	{"Accept", "What the body may be.", false},
	{"Accept-Encoding", "What content codings the body may have: identity, none.", false},
	{"Accept-Patch", "What PATCH takes (RFC 5789).", false},
	{"Accept-Query", "What QUERY takes (RFC 10008).", false},
	{"Retry-After", "Seconds to wait.", true},
	{"WWW-Authenticate", "How to authenticate.", true},
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

// The headers of answers beside X-Request-Id.
var (
	recordHeaders  = list{"ETag", "Preference-Applied"}
	listHeaders    = list{"ETag", "Preference-Applied", "X-Total-Count", "Content-Range", "Link"}
	createdHeaders = list{"ETag", "Preference-Applied", "Location"}
	restHeaders    = list{"Preference-Applied"}
)
