package query

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

// An Error says which part of a query is invalid.
type Error struct {
	Parameter string // as it was spelled; "_where" for a condition, also where it came as a body
	Pointer   string // RFC 6901, into the JSON of a condition
	Detail    string // what is wrong and what would be right, one sentence
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
		return "", &Error{Parameter: name, Detail: "the percent signs of a URL are followed by two hexadecimal digits"}
	}
	if !utf8.ValidString(s) {
		return "", &Error{Parameter: strings.ToValidUTF8(name, "\ufffd"), Detail: "the percent-encoded bytes are no UTF-8"}
	}
	return s, nil
}

// Parse reads the query part of a URL, without its question mark, of a query
// about a collection in which names says what names mean.
//
//	f=v  f:op=v  f_op=v   filters, see below
//	_where={…}            a condition as JSON, see Query.Where
//	q=text                some value, at any depth, contains text
//	_sort=a,-b.c          by a, then by b.c descending; _order=asc,desc says the same
//	_page  _per_page      pages in an Envelope
//	_page  _limit         pages; _page alone has pages of 10
//	_start  _end  _limit  part of the list; a negative number counts from its end
//	_embed  _expand       related records put into each: a collection of children, or a parent;
//	                      _embed=comments.author for more levels
//	_fields=a,b.c         what is shown of each record
//	_=anything            is ignored
//
// In a filter, f is a member, or a path of members with dots between them and
// indexes in brackets, and op one of the operators: eq ne lt lte gt gte in
// contains startsWith endsWith like exists. A name that occurs in the
// collection is that member, whatever it looks like; only an operator after a
// colon goes first. Repeats of eq, in, contains and like are alternatives;
// everything else must match. The names of filters, _embed and _expand may end in
// [], which some clients add to repeats.
//
// A page that is not a number, or below 1, is page 1. The first of repeated
// paging parameters is used, and an empty one is ignored. The error is a *Error.
func Parse(collection string, names Names, rawQuery string) (*Query, error) {
	if rawQuery == "" {
		return &Query{collection: collection}, nil // most requests, which need no parser
	}
	p := newParser(&Query{collection: collection}, names)
	for part := range strings.SplitSeq(rawQuery, "&") {
		if part == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(part, "=")
		name, err := unescape(rawName, rawName)
		if err != nil {
			return nil, err
		}
		value, err := unescape(name, rawValue)
		if err != nil {
			return nil, err
		}
		if err := p.parameter(name, value); err != nil {
			return nil, err
		}
	}
	return p.query()
}
