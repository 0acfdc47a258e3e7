// Package problem has the responses to failed requests: problem documents (RFC 9457), and the
// statuses and sentences for the errors of other packages.
package problem

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"pickup/server/openapi"
)

// A Problem is a problem document (RFC 9457), the response to a failed request. A Problem is an
// error, so that handlers can return it.
//
// The type is always "about:blank": the status is enough for programs, and the other fields are
// for people.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	// Extension members (RFC 9457 section 3.2).
	Line        int      `json:"line,omitempty"`   // of invalid JSON, from 1
	Column      int      `json:"column,omitempty"` // in characters, from 1
	Errors      []Fault  `json:"errors,omitempty"`
	Collections []string `json:"collections,omitempty"` // existing names, if something was not found
	Suggestion  string   `json:"suggestion,omitempty"`  // probably the intended name

	Conflicts []Conflict `json:"conflicts,omitempty"` // elements changed by others

	Header   http.Header `json:"-"` // of the response
	unquoted string      // Detail without quotations from the body; "" if there are none
}

// A Fault is one error in a request. Either Pointer, a JSON Pointer into the body
// (RFC 6901), or Parameter, the name of a parameter in the URL, is set.
type Fault struct {
	Pointer    *string `json:"pointer,omitempty"`
	Member     string  `json:"member,omitempty"` // of the record, if the body is a JSON Patch
	Parameter  *string `json:"parameter,omitempty"`
	Detail     string  `json:"detail"`
	Suggestion string  `json:"suggestion,omitempty"` // see schema.Fault
}

// A Conflict is a record or, without an id, a whole collection or object.
type Conflict struct {
	Collection string   `json:"collection"`
	ID         string   `json:"id,omitempty"`
	Fields     []string `json:"fields,omitempty"` // changed on both sides
}

// New returns a problem with the title of its status.
func New(status int, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: openapi.StatusText(status), Status: status, Detail: detail}
}

// Newf is New with a detail formatted by fmt.Sprintf.
func Newf(status int, format string, args ...any) *Problem {
	return New(status, fmt.Sprintf(format, args...))
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// With sets a header of the response.
func (p *Problem) With(header, value string) *Problem {
	if p.Header == nil {
		p.Header = make(http.Header)
	}
	p.Header.Set(header, value)
	return p
}

// maxExcerpt is the maximum number of faults in an excerpt.
const maxExcerpt = 20

// Excerpt returns the part of a problem for logs: the first faults, and no quotation from a
// body that is not JSON.
func (p *Problem) Excerpt() *Problem {
	n := *p
	n.Detail = cmp.Or(p.unquoted, p.Detail)
	n.Errors = slices.Clone(p.Errors[:min(len(p.Errors), maxExcerpt)])
	n.Conflicts = nil
	n.Header = nil
	return &n
}
