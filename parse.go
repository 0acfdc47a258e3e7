package pickup

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// Limits of a query, as the HTTP contract states them.
const (
	maxTerms  = 32    // different filters, in _where too
	maxValues = 1_000 // repeats of one filter, or values of its list
	maxSort   = 8     // sort keys
)

// A QueryError says what of a query cannot be read.
type QueryError struct {
	Parameter string // as it was spelled; "_where" for a condition, also where it came as a body
	Pointer   string // RFC 6901, into the JSON of a condition
	Detail    string // what is wrong and what would be right, one sentence
}

func (e *QueryError) Error() string {
	if e.Pointer != "" {
		return e.Parameter + e.Pointer + ": " + e.Detail
	}
	return e.Parameter + ": " + e.Detail
}

// unescape decodes what stands in a URL.
func unescape(name, raw string) (string, error) {
	s, err := url.QueryUnescape(raw)
	if err != nil {
		return "", &QueryError{Parameter: name, Detail: "the percent signs of a URL are followed by two hexadecimal digits"}
	}
	if !utf8.ValidString(s) {
		return "", &QueryError{Parameter: strings.ToValidUTF8(name, "\ufffd"), Detail: "the percent-encoded bytes are no UTF-8"}
	}
	return s, nil
}
