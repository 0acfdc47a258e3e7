package query

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Limits of a query.
const (
	maxTerms  = 32    // different filters, in _where too
	maxValues = 1_000 // values of a filter, by repeats or in a list; for lt, lte, gt and gte only manyValues
	maxSort   = 8     // sort keys

	maxEmbeds      = 32
	maxEmbedLevels = 8
)

// An Error is a fault in a query.
type Error struct {
	Parameter string // as spelled; "_where" for every condition, even in a body
	Pointer   string // RFC 6901, into the JSON of a condition
	Detail    string // what is wrong and what would be right, one sentence
}

// Errorf returns the Error of a parameter.
func Errorf(parameter, format string, args ...any) *Error {
	return &Error{Parameter: parameter, Detail: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string {
	if e.Pointer != "" {
		return e.Parameter + e.Pointer + ": " + e.Detail
	}
	return e.Parameter + ": " + e.Detail
}

// unescape decodes a part of a URL.
func unescape(name, raw string) (string, error) {
	s, err := url.QueryUnescape(raw)
	if err != nil {
		return "", Errorf(name, "a percent sign must be followed by two hexadecimal digits")
	}
	if !utf8.ValidString(s) {
		return "", Errorf(strings.ToValidUTF8(name, "\ufffd"), "the percent-encoded bytes are not UTF-8")
	}
	return s, nil
}

// A Parameter is a decoded parameter of a URL.
type Parameter struct{ Name, Value string }

// Parameters decodes the query part of a URL, without the question mark. It
// leaves out "_", which clients add to bypass caches. The error is an *Error.
func Parameters(rawQuery string) ([]Parameter, error) {
	if rawQuery == "" {
		return nil, nil // as in most requests
	}
	var list []Parameter
	for part := range strings.SplitSeq(rawQuery, "&") {
		rawName, rawValue, _ := strings.Cut(part, "=")
		name, err := unescape(rawName, rawName)
		if err != nil {
			return nil, err
		}
		value, err := unescape(name, rawValue)
		if err != nil {
			return nil, err
		}
		if part != "" && name != "_" {
			list = append(list, Parameter{name, value})
		}
	}
	return list, nil
}

// Parse parses the parameters of a URL that selects from the collection.
// docs/query.md describes the language. The error is an *Error.
//
// A name that occurs in the collection always means that field. Only an operator after
// a colon takes precedence. Repeats of eq, in, contains and like are alternatives; all
// other filters must match. The names of filters, _embed and _expand may end in [], which
// some clients add to repeats. A page that is not a number, or below 1, is page 1. Parse uses
// the first of repeated paging parameters, and ignores empty paging parameters.
func Parse(collection string, names Names, parameters []Parameter) (*Query, error) {
	if len(parameters) == 0 {
		return &Query{Collection: collection}, nil
	}
	p := newParser(&Query{Collection: collection}, names)
	for _, parameter := range parameters {
		if err := p.parameter(parameter.Name, parameter.Value); err != nil {
			return nil, err
		}
	}
	return p.query()
}
