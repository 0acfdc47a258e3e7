// Package problem has the answers to requests that fail: problem documents (RFC 9457), and
// the statuses and sentences for the errors of the other packages.
package problem

import (
	"cmp"
	"net/http"
	"slices"

	"pickup/server/openapi"
)

// A Problem is a problem document (RFC 9457), the answer to a request that
// fails. It is an error, so that handlers can return it.
//
// Its type is always "about:blank": the status is all that a program needs, and
// the other members are for people.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	// Extension members (RFC 9457 section 3.2).
	Line        int      `json:"line,omitempty"`   // of invalid JSON, from 1
	Column      int      `json:"column,omitempty"` // in characters, from 1
	Errors      []Fault  `json:"errors,omitempty"`
	Collections []string `json:"collections,omitempty"` // what exists, if something was not found
	Suggestion  string   `json:"suggestion,omitempty"`  // the name that was probably meant

	Conflicts []Conflict `json:"conflicts,omitempty"` // elements that others have changed

	Header   http.Header `json:"-"` // of the answer
	unquoted string      // Detail without what it quotes of the body; "" if it quotes nothing
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
	Fields     []string `json:"fields,omitempty"` // that both sides have changed
}

// New returns a problem with the title of its status.
func New(status int, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: openapi.StatusText(status), Status: status, Detail: detail}
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// With adds a header to the answer.
func (p *Problem) With(header, value string) *Problem {
	if p.Header == nil {
		p.Header = make(http.Header)
	}
	p.Header.Set(header, value)
	return p
}

// maxExcerpt is how many faults an excerpt has.
const maxExcerpt = 20

// Excerpt returns what a log keeps of a problem: nothing that it quotes of a body that is
// not JSON, and the first of its faults.
func (p *Problem) Excerpt() *Problem {
	n := *p
	n.Detail = cmp.Or(p.unquoted, p.Detail)
	n.Errors = slices.Clone(p.Errors[:min(len(p.Errors), maxExcerpt)])
	n.Conflicts, n.Header = nil, nil
	return &n
}
