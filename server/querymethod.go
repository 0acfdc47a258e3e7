package server

import (
	"errors"
	"net/http"

	"pickup/internal/query"
	"pickup/server/internal/problem"
)

// methodQuery is a safe method, like GET with a body (RFC 10008).
const methodQuery = "QUERY"

// acceptQuery is the media type of its body, a condition like that of _where.
const acceptQuery = "application/json"

// readCondition reads the body of a QUERY. Invalid JSON is 400 here, not the 500
// that the interface prescribes for writes.
func (req *request) readCondition() ([]byte, error) {
	if req.Request.Header.Get("Content-Type") == "" {
		return nil, problem.New(http.StatusBadRequest, "A QUERY needs a body with Content-Type: application/json.").With("Accept-Query", acceptQuery)
	}
	b, err := req.readSingle()
	var p *problem.Problem
	if errors.As(err, &p) && p.Line > 0 {
		p.Status, p.Title = http.StatusBadRequest, http.StatusText(http.StatusBadRequest)
	}
	if err != nil {
		return nil, err
	}
	if b.array {
		return nil, problem.WrongShape("a condition is a JSON object, as in {\"views\": {\"gt\": 10}}")
	}
	return b.objects[0], nil
}

// conditionError returns an error of a condition with a pointer into the body.
func conditionError(err error) error {
	var query *query.Error
	if !errors.As(err, &query) || query.Parameter != "_where" {
		return err
	}
	return problem.WrongShapeAt(query.Pointer, query.Detail)
}
