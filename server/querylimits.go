package server

import (
	"fmt"

	"pickup/internal/database"
	"pickup/internal/query"
)

// checkQuery holds a query to the number of parameters that the options allow.
// Those limits that the query language has for itself, and what is wrong in
// another way, are its business.
func (req *request) checkQuery() error {
	if req.Request.URL.RawQuery == "" || req.MaxTerms <= 0 {
		return nil
	}
	parameters, err := req.parameters()
	if err != nil {
		return err
	}
	names := make(map[string]bool)
	for _, p := range parameters {
		if names[p.name] = true; len(names) > req.MaxTerms {
			return badParameter(p.name, fmt.Sprintf("a query has at most %d different parameters", req.MaxTerms))
		}
	}
	return nil
}

// checkPage holds what a query asks for to the greatest page of the options:
// the size that it names, and with a result what it comes to.
func (req *request) checkPage(q *query.Query, r *database.Result) error {
	size, parameter := q.PageSize()
	if r != nil {
		size = len(r.Records)
	}
	if req.MaxPage > 0 && parameter != "" && size > req.MaxPage {
		return badParameter(parameter, fmt.Sprintf("a page has at most %d records", req.MaxPage))
	}
	return nil
}
