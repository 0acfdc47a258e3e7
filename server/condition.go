package server

import (
	"errors"
	"net/http"

	"pickup/internal/query"
)

// methodQuery is a GET with a body (RFC 10008): it changes nothing.
const methodQuery = "QUERY"

// acceptQuery is what its body may be: a condition in the form of _where.
const acceptQuery = "application/json"

// condition returns the body of a QUERY, checked as every body is. Since it
// changes nothing, one that is no JSON is the usual 400.
func (req *request) readCondition() ([]byte, error) {
	if req.Request.Header.Get("Content-Type") == "" {
		return nil, (&problem{status: http.StatusBadRequest, detail: "A QUERY needs a body and its Content-Type: application/json."}).with("Accept-Query", acceptQuery)
	}
	b, err := req.readSingle()
	var p *problem
	if errors.As(err, &p) && p.line > 0 {
		p.status, p.title = http.StatusBadRequest, ""
	}
	if err != nil {
		return nil, err
	}
	if b.array {
		return nil, wrongShape("a condition is a JSON object, as in {\"views\": {\"gt\": 10}}")
	}
	return b.objects[0], nil
}

// conditionError returns an error of a condition with its pointer leading into the
// body.
func conditionError(err error) error {
	var query *query.Error
	if !errors.As(err, &query) || query.Parameter != "_where" {
		return err
	}
	return wrongShapeAt(query.Pointer, query.Detail)
}
